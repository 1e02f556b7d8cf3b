import fc from "fast-check";
import { expect, test } from "vitest";
import { lastSentence, laidOut, resultText, revealed, revealedText, stripAnsi } from "../../src/ui/readable";

test("R38: what cannot be seen in a command stands as its code point", () => {
  const hidden = ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00a0", "\u00ad", "\t", "\r", "\u001b", "\u007f", "\u3164", "\u{e0041}", "\u2028", "\ufe0f", "\u061c", "\u2800"];
  for (const character of hidden) {
    const code = character.codePointAt(0) ?? 0;
    expect(revealed(`a${character}b`)).toEqual(["a", { code }, "b"]);
  }
  expect(revealedText("rm \u202ex")).toBe("rm [U+202E]x");
});

test("R38: nothing of a command is lost, and nothing hidden is left in what is shown as it is", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (command) => {
    const pieces = revealed(command);
    expect(pieces.map((piece) => (typeof piece === "string" ? piece : String.fromCodePoint(piece.code))).join("")).toBe(command);
    for (const piece of pieces) if (typeof piece === "string") expect(piece).not.toMatch(/[\p{Cf}]|(?!\n)\p{Cc}/u);
  }));
});

test("R31: a terminal's colours and titles are not shown", () => {
  expect(stripAnsi("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\")).toBe("red link");
});

test("R31: a result that is JSON is laid out, with its line breaks", () => {
  expect(resultText('{"output":"a\\n\\u001b[1mb","exit_code":0,"error":null,"more":{"x":[1]}}'))
    .toBe('output:\n  a\n  b\nexit_code: 0\nerror: null\nmore:\n  {\n    "x": [\n      1\n    ]\n  }');
  expect(resultText("[not json")).toBe("[not json");
  expect(laidOut([1])).toBe("[\n  1\n]");
});

test.each([
  ["First this. Then tha", false, "First this."],
  ["First this. Then that.", false, "Then that."],
  ["First this. Then tha", true, "Then tha"],
  ["only a beginning", false, null],
  ["看数据。再看缺失", false, "看数据。"],
  ["open data.csv now. ok", false, "open data.csv now."],
  ["- **bold** point\n- next", false, "bold point"],
  ["", true, null],
])("R31: the last sentence of %j (finished: %s) is %j", (text, finished, sentence) => {
  expect(lastSentence(text, finished)).toBe(sentence);
});
