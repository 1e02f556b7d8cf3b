import spec from "commonmark-spec";
import fc from "fast-check";
import { type Token, Parser, marked } from "marked";
import { expect, test } from "vitest";
import { lex, lexWhole, TailLexer } from "../../src/markdown/lex";
import { pieces } from "./read";

const tidy = (html: string) => html.replace(/>\s+</g, "><").trim();
const once = (text: string) => tidy(marked.parse(text, { async: false }));

/** What the streamed tokens render to; with `late`, blocks that hold references get the definitions that came behind them. */
function streamed(text: string, size: number, late = true): string {
  const lexer = new TailLexer();
  const shown: Token[] = [];
  let open: readonly Token[] = [];
  for (const piece of pieces(text, size)) {
    const pushed = lexer.push(piece);
    shown.push(...pushed.closed);
    open = pushed.open;
  }
  const { links } = lexWhole(text.replace(/\r\n?/g, "\n"));
  const html = [...shown, ...open].map((token) =>
    Parser.parse(late && token.raw.includes("[") && token.type !== "def" ? lex(token.raw, links) : [token]));
  return tidy(html.join(""));
}

const examples = spec.tests.map((example) => ({ ...example, markdown: example.markdown.replaceAll("→", "\t") }));

test("every CommonMark example is there", () => {
  expect(examples).toHaveLength(652);
});

test.each([1, 4])("what is streamed %i characters at a time equals one parse, on every CommonMark example", (size) => {
  const different = examples.filter(({ markdown }) => streamed(markdown, size) !== once(markdown));
  expect(different.map((example) => `${example.number}: ${JSON.stringify(example.markdown)}`)).toEqual([]);
});

const hard = {
  loose: "- a\n- b\n\n- c\n\npara\n", lazy: "> a\nb\nc\n\nd\n", setext: "Title\nmore\n===\n\nx\n---\ny\n",
  table: "para\n| a | b |\n| - | - |\n| 1 | 2 |\nnot table\n\nx", cutTable: "| a | b |\n|---|--",
  nested: "- x\n  ```py\n  a\n\n  b\n  ```\n- y\n\n  para\n\n      code\n\nend\n", html: "<div>\n\n*a*\n\n</div>\n\nb\n",
  pre: "<pre>\na\n\nb\n</pre>\nc\n", comment: "a\n\n<!-- x\n\ny -->\n\nb\n", fences: "````md\n```py\nx\n```\n````\nafter\n",
  tilde: "~~~\n```\n~~~\n", title: "[a]: /u\n\"t\nitle\"\n\n[a]\n", late: "See [a][b].\n\n[b]: /u\n", ordered: "1. a\n2. b\n\n   c\n\n3. d\n10. e\n",
  empty: "- a\n\n-\n\nb\n", rules: "- a\n***\n- b\n- - -\n", windows: "a\r\n\r\n- b\r\n- c\r\n", indented: "    a\n\n    b\n\nc\n",
  tasks: "- [ ] a\n- [x] b\n\n  c\n",
};

test.each(Object.entries(hard))("a hard place: %s", (_, text) => {
  for (const size of [1, 2, 3, 7]) expect(streamed(text, size)).toBe(once(text));
});

test("random fragments, in pieces of any size, equal one parse", () => {
  // Left out: raw HTML and `$` blocks, where marked itself reads a block differently with what stands in front of it.
  const fragment = fc.constantFrom(
    "a", "b c", "\n", "\n\n", "- ", "  - ", "1. ", "> ", "```\n", "```", "    ", "# ", "---\n", "| a | b |\n", "| - | - |\n", "*", "**",
    "`", "\\", "&amp;", "![i](u)", "http://a.b ", "[l](u)", "é", "😀", "\r\n",
  );
  const text = fc.array(fragment, { minLength: 3, maxLength: 30 }).map((parts) => parts.join(""));
  const misses: string[] = [];
  let runs = 0;
  fc.assert(fc.property(text, fc.integer({ min: 1, max: 9 }), (source, size) => {
    runs++;
    if (streamed(source, size) !== once(source)) misses.push(JSON.stringify(source));
  }), { numRuns: 1500, seed: 7 });
  expect(runs).toBe(1500);
  expect(misses).toEqual([]);
});

test("closed blocks leave the tail, so that a long text costs the same at its end", () => {
  const lexer = new TailLexer();
  const paragraph = "Some words that make a paragraph, and a [link](https://example.org).\n\n";
  let lexed = 0;
  for (let i = 0; i < 500; i++) for (const piece of pieces(paragraph, 8)) lexed += lexer.push(piece).open.reduce((n, t) => n + t.raw.length, 0);
  // Each piece sees its own paragraph and, until a line of it is complete, the one before.
  expect(lexed).toBeLessThan(500 * pieces(paragraph, 8).length * 2 * paragraph.length);
});

test("nesting beyond reason is shown as text, not an overflow", () => {
  const text = `${">".repeat(5000)} x`;
  expect(lexWhole(text).tokens.map((token) => token.raw)).toEqual([text]);
});
