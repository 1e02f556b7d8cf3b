import { readFileSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { apply, initial, reduce, type TurnState } from "../../src/protocol/reduce";
import type { Answer, RunEvent } from "../../src/protocol/types";

interface Case { name: string; events: RunEvent[]; gap?: boolean; state: TurnState }

const folder = new URL("../../../tests/cases/reduce/", import.meta.url);
const cases = readdirSync(folder).filter((f) => f.endsWith(".json")).map((f) => JSON.parse(readFileSync(new URL(f, folder), "utf8")) as Case);
const run = "3f1c2a9e-0d4b-4c57-9a1e-5b7d2f60c811.2";

test.each(cases)("R32: $name", ({ events, gap, state }) => {
  expect(reduce(state.runId, events)).toEqual({ state, gap: gap ?? false });
  if (gap) expect(reduce(state.runId, events.slice(0, -1)).gap).toBe(false);
});

test.each(cases.filter((c) => !c.gap))("R32: replay over a live view changes nothing: $name", ({ events, state }) => {
  let again = state;
  for (const event of events) again = apply(again, event).state;
  expect(again).toBe(state);
});

test("R32: the state is the same however the recorder merged the text, and whatever arrives twice", () => {
  const words = fc.array(fc.tuple(fc.string({ unit: "grapheme", minLength: 1, maxLength: 4 }), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(words, fc.array(fc.tuple(fc.nat(19), fc.nat(19)), { maxLength: 6 }), (pieces, spans) => {
    const events: Answer[] = [];
    let offset = 0;
    let t = 0;
    for (const [text, pause] of pieces) {
      t += pause;
      events.push({ kind: "answer", runId: run, seq: events.length + 1, t, segment: 0, offset, text });
      offset += [...text].length;
    }
    const whole = reduce(run, events);
    expect(whole.state.text).toBe(pieces.map(([text]) => text).join(""));

    // Rows of any two numbers, each a merge of what lies between, in the order of their beginnings: some overlap, some are inside others.
    const rows = [...spans, ...events.map((_, i) => [i, i] as [number, number])]
      .map(([a, b]) => [Math.min(a, b, events.length - 1), Math.min(Math.max(a, b), events.length - 1)] as const)
      .sort((x, y) => x[0] - y[0] || y[1] - x[1])
      .map(([a, b]): Answer => ({ ...events[a]!, seqEnd: b + 1, tEnd: events[b]!.t, text: events.slice(a, b + 1).map((e) => e.text).join("") }));
    expect(reduce(run, rows)).toEqual(whole);
  }));
});

test("R32: a long answer in small deltas costs the same per delta at its end", () => {
  const deltas = 20_000;
  let state = initial(run);
  const started = performance.now();
  for (let i = 0; i < deltas; i++) state = apply(state, { kind: "answer", runId: run, seq: i + 1, t: i, segment: 0, offset: i * 4, text: "a😀bc" }).state;
  expect(state.text.length).toBe(deltas * 5);
  // Counting from the beginning each time would take minutes.
  expect(performance.now() - started).toBeLessThan(2000);
});
