// @vitest-environment jsdom
import spec from "commonmark-spec";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MarkdownView, type MarkdownOptions } from "../../src/markdown/stream";
import { pieces } from "./read";

let frames: (() => void)[] = [];
const drawFrames = () => { for (const draw of frames.splice(0)) draw(); };

function view(options: MarkdownOptions = {}): MarkdownView {
  return new MarkdownView(document.createElement("div"), { frame: (draw) => frames.push(draw), cancelFrame: () => { frames = []; }, ...options });
}

/** The view after the text came in pieces, each drawn. */
function streamed(text: string, size: number): MarkdownView {
  const shown = view();
  let sofar = "";
  for (const piece of pieces(text, size)) {
    shown.set((sofar += piece));
    vi.advanceTimersByTime(60_000);
    drawFrames();
  }
  return shown;
}

function whole(text: string): string {
  const shown = view();
  shown.finish(text);
  return shown.element.innerHTML; // eslint-disable-line no-restricted-properties
}

const html = (shown: MarkdownView) => shown.element.innerHTML; // eslint-disable-line no-restricted-properties

beforeEach(() => { vi.useFakeTimers({ toFake: ["performance"] }); });
afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
  frames = [];
});

test("what was streamed and finished is what one parse shows, on every CommonMark example", () => {
  const different = spec.tests.filter(({ markdown }) => {
    const text = markdown.replaceAll("→", "\t");
    const shown = streamed(text, 7);
    shown.finish(text);
    return html(shown) !== whole(text);
  });
  expect(different.map((example) => example.number)).toEqual([]);
});

test("before it is finished, streamed text is already what one parse shows, but for references defined later", () => {
  const different = spec.tests.filter(({ markdown }) => {
    const text = markdown.replaceAll("→", "\t");
    return !text.includes("]:") && html(streamed(text, 5)) !== whole(text);
  });
  expect(different.map((example) => example.number)).toEqual([]);
});

test("any text, cut anywhere, ends as one parse shows it", () => {
  const fragment = fc.constantFrom("a", "\n", "\n\n", "- ", "  - ", "1. ", "> ", "```\n", "# ", "| a | b |\n", "| - | - |\n", "**", "`", "<b>", "<div>\n", "[x]", "[x]: /u\n", "😀");
  fc.assert(fc.property(fc.array(fragment, { maxLength: 25 }), fc.integer({ min: 1, max: 9 }), (parts, size) => {
    const text = parts.join("");
    const shown = streamed(text, size);
    shown.finish(text);
    expect(html(shown)).toBe(whole(text));
  }), { numRuns: 200 });
});

test("the nodes of a growing text stay, and so does a selection in them", () => {
  const shown = view();
  document.body.append(shown.element);
  shown.set("One *two* three\n\n- item on");
  drawFrames();
  const [paragraph, list] = [shown.element.children[0]!, shown.element.children[1]!];
  const text = list.querySelector("li")!.firstChild as Text;
  document.getSelection()!.setBaseAndExtent(paragraph.firstChild!, 1, text, 4);

  shown.set("One *two* three\n\n- item one\n- item two\n\nThe end");
  vi.advanceTimersByTime(1000);
  drawFrames();
  expect(list.querySelector("li")!.firstChild).toBe(text);
  expect(text.data).toBe("item one");
  shown.finish("One *two* three\n\n- item one\n- item two\n\nThe end.");

  expect([...shown.element.children].slice(0, 2)).toEqual([paragraph, list]);
  expect(shown.element.textContent).toBe("One two threeitem oneitem twoThe end.");
  const selection = document.getSelection()!;
  expect([selection.anchorNode, selection.anchorOffset, selection.focusNode, selection.focusOffset]).toEqual([paragraph.firstChild, 1, text, 4]);
});

test("a definition that comes late reaches references in a list that is closed", () => {
  const text = "- see [x]\n- and [x]\n\nmore\n\n[x]: https://example.org/\n";
  const shown = streamed(text, 4);
  shown.finish(text);
  expect(shown.element.querySelectorAll("li a")).toHaveLength(2);
});

test("text that does not continue what was shown is drawn anew", () => {
  const shown = view();
  shown.set("# One\n\nTwo\n\nThree");
  drawFrames();
  shown.set("Other");
  vi.advanceTimersByTime(1000);
  drawFrames();
  expect(html(shown)).toBe("<p>Other</p>");
});

test("several texts within one frame are drawn once, the last one", () => {
  const shown = view();
  shown.set("a");
  shown.set("ab");
  shown.set("abc");
  expect(frames).toHaveLength(1);
  expect(shown.element.textContent).toBe("");
  drawFrames();
  expect(shown.element.textContent).toBe("abc");
});

test("after a costly frame the next one is left out until twice its cost has passed", () => {
  const shown = view({ labels: { get copy() { vi.advanceTimersByTime(40); return "Copy"; }, loadImage: (host) => host, task: String, leadsTo: (where) => where } });
  shown.set("```\na\n```");
  drawFrames();
  shown.set("```\na\n```\n\nb");
  vi.advanceTimersByTime(79);
  drawFrames();
  expect(shown.element.textContent).not.toContain("b");
  vi.advanceTimersByTime(1);
  drawFrames();
  expect(shown.element.textContent).toContain("b");
});

test("R62: a task's box is named by whether the task is done", () => {
  const shown = view();
  shown.finish("- [x] one\n- [ ] two\n");
  expect([...shown.element.querySelectorAll("input")].map((box) => [box.checked, box.getAttribute("aria-label")]))
    .toEqual([[true, "Done"], [false, "To do"]]);
});

test("the copy button gives the code of its own block", () => {
  const copied: string[] = [];
  const shown = view({ copy: (code) => copied.push(code) });
  shown.finish("```py\none\n```\n\n```\ntwo\n```\n");
  shown.element.querySelectorAll<HTMLElement>("button")[1]!.click();
  expect(copied).toEqual(["two\n"]);
});

test("R63: an image is loaded by a click, streaming or finished, and stays loaded", () => {
  const shown = view();
  shown.set("![cat](https://img.example/cat.png)\n\n- a\n- ![cat](https://img.example/cat.png)\n\nend");
  drawFrames();
  expect(shown.element.querySelectorAll("img")).toHaveLength(0);
  shown.element.querySelector("button")!.click();
  expect(shown.element.querySelectorAll("img")).toHaveLength(2);
  shown.finish("![cat](https://img.example/cat.png)\n\n- a\n- ![cat](https://img.example/cat.png)\n\nend ![dog](https://img.example/dog.png)");
  expect(shown.element.querySelectorAll("img")).toHaveLength(2);
  shown.element.querySelector("button")!.click();
  expect(shown.element.querySelectorAll("img")).toHaveLength(3);
});

test("a view that is disposed draws no more", () => {
  const shown = view();
  shown.set("a");
  shown.dispose();
  drawFrames();
  expect(shown.element.textContent).toBe("");
});
