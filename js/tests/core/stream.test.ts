import fc from "fast-check";
import { expect, test } from "vitest";
import type { ServerSentEvent } from "../../src/core/contract";
import { EventParser, readEvents } from "../../src/core/stream";

const frame = (data: string, event = "message", id: string | null = null): ServerSentEvent => ({ event, data, id });

function parsed(...pieces: string[]): ServerSentEvent[] {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

test("a frame has a name, data and an id, and the id stays", () => {
  expect(parsed('id: 7\nevent: sync\ndata: {"a":1}\n\ndata:x\n\n')).toEqual([frame('{"a":1}', "sync", "7"), frame("x", "message", "7")]);
});

test.each(["\n", "\r", "\r\n"])("lines end with %j", (end) => {
  expect(parsed(["event: a", "data: 1", "data:  2", "", "data", "", ""].join(end), "\n")).toEqual([frame("1\n 2", "a"), frame("")]);
});

test("a CRLF cut in the middle is one line end", () => {
  expect(parsed("data: a\r", "\ndata: b\r", "\n\r", "\n")).toEqual([frame("a\nb")]);
});

test("comments, unknown fields and frames without data give nothing", () => {
  expect(parsed(`:${" ".repeat(2048)}\n\n: hb\n\nretry: 5\nsparkle: x\nevent: lonely\n\ndata: 1\n\n`)).toEqual([frame("1")]);
});

test("U+2028, U+2029, U+0085 and form feeds are text, not line ends", () => {
  expect(parsed("data: a\u2028b\u2029c\u0085d\fe\vf\n\n")).toEqual([frame("a\u2028b\u2029c\u0085d\fe\vf")]);
});

test("an id with a NUL is ignored, an unfinished frame is dropped", () => {
  expect(parsed("id: 1\nid: 2\0\ndata: x\n\ndata: y\n")).toEqual([frame("x", "message", "1")]);
});

const lines = fc.array(fc.oneof(
  fc.constantFrom("data: 1", "data:", "event: sync", "id: 3", ": hb", "", "", "data: é😀\u2028中"), fc.string({ unit: "grapheme", maxLength: 6 }).map((s) => `data: ${s.replace(/[\r\n]/g, "")}`),
), { maxLength: 30 });
const streamText = fc.tuple(lines, fc.constantFrom("\n", "\r\n", "\r")).map(([all, end]) => all.map((line) => line + end).join("") + "data: end\n\n");

test("where the text is cut makes no difference", () => {
  fc.assert(fc.property(streamText, fc.array(fc.nat(200), { maxLength: 12 }), (text, cuts) => {
    const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)), text.length].sort((a, b) => a - b);
    const pieces = at.slice(1).map((end, i) => text.slice(at[i], end));
    expect(parsed(...pieces)).toEqual(parsed(text));
  }));
});

test("where the bytes are cut makes no difference, not even inside a character", async () => {
  const text = "data: é😀中\u2028\r\n\r\nevent: x\ndata: 2\n\n";
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 5]) {
    let heard = 0;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const found: ServerSentEvent[] = [];
    for await (const one of readEvents(body, () => { heard++; })) found.push(one);
    expect(found).toEqual([frame("é😀中\u2028"), frame("2", "x")]);
    expect(heard).toBe(Math.ceil(bytes.length / size));
  }
});

test("a reader that stops early cancels the body", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) { controller.enqueue(new TextEncoder().encode("data: 1\n\n")); },
    cancel() { cancelled = true; },
  });
  for await (const one of readEvents(body, () => undefined)) {
    expect(one.data).toBe("1");
    break;
  }
  expect(cancelled).toBe(true);
});

test("a long line in many pieces is looked at once", () => {
  const parser = new EventParser();
  const piece = "x".repeat(1000);
  const began = performance.now();
  parser.push("data: ");
  for (let i = 0; i < 5000; i++) parser.push(piece);
  expect(parser.push("\n\n")[0]?.data).toHaveLength(5_000_000);
  expect(performance.now() - began).toBeLessThan(2000);
});
