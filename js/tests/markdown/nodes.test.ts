// @vitest-environment jsdom
import spec from "commonmark-spec";
import { marked } from "marked";
import { expect, test } from "vitest";
import { lexWhole } from "../../src/markdown/lex";
import { LABELS, nodes } from "../../src/markdown/nodes";
import { patch } from "../../src/markdown/patch";
import { elements, outline, parsed } from "./read";

function drawn(text: string, allowed: readonly string[] = []): HTMLElement {
  const element = document.createElement("div");
  const context = { labels: LABELS, base: "https://jupyter.example/user/ann%40b/lab", allowed: (src: string) => allowed.includes(src), generation: "" };
  patch(element, nodes(lexWhole(text).tokens, context));
  return element;
}

/** Without links, which are compared below, and without what we add: the head of a code block, boxes that scroll, labels. */
function plain(element: Element): string {
  for (const found of elements(element)) {
    if (found.classList.contains("md-code-head") || found.classList.contains("md-where")) found.remove();
    else if (found.localName === "a" || found.localName === "div") found.replaceWith(...found.childNodes);
    else if (found.localName === "pre") found.removeAttribute("class");
  }
  return squeezed([...element.childNodes].map((child) => outline(child, ["start", "class", "checked"])).join(""));
}

function squeezed(text: string): string {
  return text.replace(/>\s+</g, "><").replace(/\s*(<\/?(?:p|li|ul|ol|blockquote|pre|table|thead|tbody|tr|h\d|hr)[^>]*>)\s*/g, "$1");
}

test("what is shown is what marked means, on every CommonMark example without raw HTML and images", () => {
  const different: string[] = [];
  let compared = 0;
  for (const example of spec.tests) {
    const markdown = example.markdown.replaceAll("→", "\t");
    const html = marked.parse(markdown, { async: false });
    if (/"type":"(html|image)"/.test(JSON.stringify(lexWhole(markdown).tokens))) continue;
    compared++;
    const meant = plain(parsed(html));
    const shown = plain(drawn(markdown));
    if (shown !== meant) different.push(`${example.number}: ${JSON.stringify(markdown)}\n  ${meant}\n  ${shown}`);
  }
  expect(different).toEqual([]);
  expect(compared).toBeGreaterThan(500);
});

test("a code block has a head with its language and a copy button, and scrolls by itself", () => {
  expect(outline(drawn("```python extra\nprint(1 < 2)\n```"), ["class", "data-md", "tabindex", "type"])).toBe(
    "<div><div class=md-code><div class=md-code-head><span class=md-code-language>python</span>"
    + "<button class=md-copy data-md=copy type=button>Copy</button></div>"
    + "<pre class=md-scroll tabindex=0><code class=language-python>print(1 < 2)\n</code></pre></div></div>",
  );
});

test("a table is wrapped, so that it scrolls instead of its page, and aligns by classes", () => {
  expect(outline(drawn("| a | b |\n|:-:|--|\n| 1 | `2` |"), ["class", "tabindex"])).toBe(
    "<div><div class=md-table md-scroll tabindex=0><table><thead><tr><th class=md-center>a</th><th>b</th></tr></thead>"
    + "<tbody><tr><td class=md-center>1</td><td><code>2</code></td></tr></tbody></table></div></div>",
  );
});

test("a task list shows its boxes, which nobody can press", () => {
  expect(outline(drawn("- [x] done\n- [ ] open"), ["class", "type", "disabled", "checked"])).toBe(
    "<div><ul><li class=md-task><input type=checkbox disabled= checked=></input>done</li>"
    + "<li class=md-task><input type=checkbox disabled=></input>open</li></ul></div>",
  );
});

const links: [string, string][] = [
  ["[a](https://example.org/x)", "<a href=https://example.org/x>a</a>"],
  ["[a](HTTP://Example.org)", "<a href=http://example.org/>a</a>"],
  ["<ann@example.org>", "<a href=mailto:ann@example.org>ann@example.org</a>"],
  ["[a](//evil.example/x)", "<a href=https://evil.example/x>a<span> (evil.example)</span></a>"],
  ["[a](\\\\\\\\evil.example)", "<a href=https://evil.example/>a<span> (evil.example)</span></a>"],
  ["[a](../logout?x=1)", "<a href=https://jupyter.example/user/logout?x=1>a<span> (/user/logout?x=1)</span></a>"],
  ["[a](https://jupyter.example/logout)", "<a href=https://jupyter.example/logout>a<span> (/logout)</span></a>"],
  ["[a](#part)", "a"],
  ["[a](https://bank.example@evil.example/)", "a"],
  ["[a](javascript:alert(1))", "a"],
  ["[a](java&#115;cript:alert(1))", "a"],
  ["[a](javascript&colon;alert(1))", "a"],
  ["[a](<java\tscript:alert(1)>)", "a"],
  ["[a](<\u0001javascript:alert(1)>)", "a"],
  ["[a](JaVaScRiPt:alert(1))", "a"],
  ["[a](data:text/html,x)", "a"],
  ["[a](vbscript:x)", "a"],
  ["[a](file:///etc/passwd)", "a"],
  ["[a](blob:https://jupyter.example/1)", "a"],
  ["[a][r]\n\n[r]: javascript:alert(1)", "a"],
];
test.each(links)("R63: the link %s leads where it says, or nowhere", (source, shown) => {
  expect(outline(drawn(source), ["href"])).toBe(`<div><p>${shown}</p></div>`);
});

test("R63: links open elsewhere, tell nothing about this page, and name their address", () => {
  const link = drawn("[a](https://example.org/x 'Title')").querySelector("a");
  expect(link?.getAttribute("rel")).toBe("noopener noreferrer nofollow");
  expect(link?.getAttribute("target")).toBe("_blank");
  expect(link?.getAttribute("title")).toBe("Title\nhttps://example.org/x");
});

test("R63: a remote image is a button that names its host, until it is allowed", () => {
  const source = "![A cat](https://img.example/cat.png?user=ann)";
  expect(outline(drawn(source), ["src", "data-src"])).toBe(
    "<div><p><button data-src=https://img.example/cat.png?user=ann>A cat · Load image from img.example</button></p></div>",
  );
  expect(outline(drawn(source, ["https://img.example/cat.png?user=ann"]), ["src", "alt", "referrerpolicy"])).toBe(
    "<div><p><img src=https://img.example/cat.png?user=ann alt=A cat referrerpolicy=no-referrer></img></p></div>",
  );
});

test("R63: an image on this server is a link, since loading it would act in the reader's name", () => {
  expect(outline(drawn("![x](/logout)"), ["href", "src"])).toBe("<div><p><a href=https://jupyter.example/logout>x<span> (/logout)</span></a></p></div>");
  expect(outline(drawn("![x](data:image/svg+xml,<svg/onload=alert(1)>)"))).toBe("<div><p>x</p></div>");
});
