// @vitest-environment jsdom
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { apply, ended, initial, type TurnState } from "../../src/protocol/reduce";
import type { RunEvent } from "../../src/protocol/types";
import { atOnce, type Turn } from "../../src/ui/turn";
import { events, reduced } from "./fake-pool";
import { actions, all, type context, html, one, press, shown, visible } from "./place";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => {
  document.body.replaceChildren();
  vi.useRealTimers();
});

const folder = join(import.meta.dirname, "../../../tests/cases/reduce");
const cases = readdirSync(folder).filter((file) => file.endsWith(".json"))
  .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as { name: string; events: RunEvent[]; gap?: boolean; state: TurnState });

const started = { kind: "run_started", t: 0 } as const;
const complete = { kind: "run_complete", t: 9000, text: "Done.", durationMs: 9000, usage: { input: 900, output: 300 } } as const;

function openRows(turn: Turn): void {
  for (const fold of all(turn.element, ".fold[aria-expanded=false]")) fold.click();
  for (const row of all(turn.element, "button.hc-r[aria-expanded=false]")) row.click();
}

test.each(cases.filter(({ gap, state }) => !gap && ended(state)))("R32: history looks as the live view did: $name", ({ events, state }) => {
  let now = initial(state.runId);
  const live = shown(now);
  for (const event of events) {
    live.update((now = apply(now, event).state));
    vi.advanceTimersByTime(1100);
  }
  const history = shown(state);
  expect(html(live.element)).toBe(html(history.element));
  openRows(live);
  openRows(history);
  expect(html(live.element)).toBe(html(history.element));
});

test("R31: the five zones of a running turn", () => {
  const turn = shown(reduced("r", events("r", started,
    { kind: "thinking", t: 100, segment: 0, offset: 0, text: "First load it. Then count." },
    { kind: "tool_call", t: 6000, callId: "a", tool: "read_file", args: { path: "x.csv" }, summary: "x.csv" },
    { kind: "todo_update", t: 6100, todos: [{ id: "1", content: "Load", status: "completed" }, { id: "2", content: "Count", status: "in_progress" }] },
    { kind: "status", t: 6200, text: "Looking" },
    { kind: "clarify_request", t: 6300, clarifyId: "q", question: "Which one?", choices: ["A", "B"], allowOther: true },
  )), { actions: actions() });
  expect(visible(one(turn.element, ".hc-proc"))).toBe("Then count.0.1 sread_filex.csv");
  expect(visible(one(turn.element, ".hc-head"))).toMatch(/^Waiting for your answer/);
  expect(visible(one(turn.element, ".hc-todo"))).toBe("Plan1 of 2LoadCount");
  expect(visible(one(turn.element, ".hc-card"))).toContain("Which one?");
  expect(all(turn.element, ".hc-opt").map(visible)).toEqual(["1A", "2B"]);
});

test("R31: afterwards one summary line, and everything again when it is unfolded", () => {
  const run = events("r", started,
    { kind: "thinking", t: 0, segment: 0, offset: 0, text: "Hm" }, { kind: "thinking", t: 4000, segment: 0, offset: 2, text: "m." },
    { kind: "tool_call", t: 5000, callId: "a", tool: "terminal", args: {}, summary: "ls" },
    { kind: "tool_result", t: 6000, callId: "a", result: "x.csv", durationMs: 1000 },
    { kind: "todo_update", t: 6100, todos: [{ id: "1", content: "Load", status: "completed" }] },
    { kind: "answer", t: 8000, segment: 0, offset: 0, text: "Done." }, complete);
  const turn = shown(reduced("r", run.slice(0, -1)));
  expect(one(turn.element, ".hc-proc").hidden).toBe(false);
  turn.update(reduced("r", run));
  expect(visible(turn.element)).toBe("Thought 4 s · 1 tool · 1.2k tokensDone.");
  one(turn.element, ".hc-head").click();
  expect(visible(turn.element)).toContain("Hmm.4 sterminalls1.0 sPlan1 of 1Load");
});

test.each([
  ["the reader opened it", (turn: Turn) => { one(turn.element, ".fold").click(); one(turn.element, ".fold").click(); }, {}],
  ["the focus is in it", (turn: Turn) => { one(turn.element, "button.hc-r").focus(); }, {}],
  ["text in it is selected", (turn: Turn) => { document.getSelection()?.selectAllChildren(one(turn.element, ".hc-proc")); }, {}],
  ["the reader has scrolled up", () => undefined, { following: () => false }],
])("R31: the process stays open at the end where %s", (_, act, more) => {
  const run = events("r", started, { kind: "tool_call", t: 1, callId: "a", tool: "x", args: {} }, complete);
  const turn = shown(reduced("r", run.slice(0, -1)), more);
  act(turn);
  turn.update(reduced("r", run));
  expect(one(turn.element, ".hc-proc").hidden).toBe(false);
});

test("R31: the folded thought is its last complete sentence, and changes once a second", () => {
  const text = "One. Two. Three. Fo";
  const turn = shown(reduced("r", events("r", started, { kind: "thinking", t: 1, segment: 0, offset: 0, text: text.slice(0, 5) })));
  const line = () => one(turn.element, ".hc-proc .hc-clip").textContent;
  expect(line()).toBe("One.");
  turn.update(reduced("r", events("r", started, { kind: "thinking", t: 1, segment: 0, offset: 0, text })));
  expect(line()).toBe("One.");
  vi.advanceTimersByTime(1000);
  expect(line()).toBe("Three.");
  one(turn.element, ".hc-proc button").click();
  expect([line(), one(turn.element, ".hc-th.live").textContent]).toEqual(["Thinking", text]);
  one(turn.element, ".hc-proc button").click();
  turn.update(reduced("r", events("r", started, { kind: "thinking", t: 1, segment: 0, offset: 0, text }, complete)));
  expect(line()).toBe("Fo");
});

test("R31: a thought that has ended shows its last sentence at once, though the run goes on", () => {
  const thinking = { kind: "thinking", t: 1, segment: 0 } as const;
  let state = initial("r");
  const turn = shown(state);
  const said = events("r", started, { ...thinking, offset: 0, text: "One. Tw" }, { ...thinking, offset: 7, text: "o. " },
    { kind: "tool_call", t: 2, callId: "a", tool: "terminal", args: {}, summary: "ls" }).map((event) => {
    turn.update((state = apply(state, event).state));
    return all(turn.element, ".hc-proc .hc-clip").map(visible);
  });
  expect(said).toEqual([[], ["One."], ["One."], ["Two.", "ls"]]);
});

test("R31: a tool's arguments and result open; a long result first shows its beginning", () => {
  const result = Array.from({ length: 20 }, (_, i) => `\u001b[32mline ${i}\u001b[0m`).join("\n");
  const turn = shown(reduced("r", events("r", started,
    { kind: "tool_call", t: 1, callId: "a", tool: "terminal", args: { command: "ls", deep: { x: 1 } }, summary: "ls" },
    { kind: "tool_result", t: 2, callId: "a", result, isError: true, durationMs: 400 })));
  const row = one(turn.element, ".hc-proc .hc-r");
  expect([row.classList.contains("bad"), visible(row)]).toEqual([true, "terminallsFailed"]);
  row.click();
  expect(one(turn.element, ".hc-pre.args").textContent).toBe('command: ls\ndeep:\n  {\n    "x": 1\n  }');
  expect(one(turn.element, ".hc-pre.err").textContent).toMatch(/^line 0\n[\s\S]*line 11\n…$/);
  one(turn.element, ".foot button").click();
  expect(one(turn.element, ".hc-pre.err").textContent).toMatch(/line 19$/);
});

test("R31: a result that is too large for the log can be loaded, where a server is in reach", () => {
  const state = reduced("r", events("r", started, { kind: "tool_call", t: 1, callId: "a", tool: "terminal", args: {} },
    { kind: "tool_result", t: 2, callId: "a", result: "begin", truncated: true, blob: { sha256: "ab", size: 9, mediaType: "text/plain" } }));
  const link = (more: Parameters<typeof context>[0]) => {
    const turn = shown(state, more);
    one(turn.element, ".hc-proc .hc-r").click();
    return all(turn.element, ".foot a").map((a) => a.getAttribute("href"));
  };
  expect(link({ blobUrl: (part) => `/blobs/${part.blob?.sha256 ?? ""}` })).toEqual(["/blobs/ab"]);
  expect(link({})).toEqual([]);
});

test("R19: parallel tools stand together under one line", () => {
  const turn = shown(reduced("r", events("r", started,
    { kind: "tool_call", t: 100, callId: "a", tool: "one", args: {} }, { kind: "tool_call", t: 110, callId: "b", tool: "two", args: {} },
    { kind: "tool_result", t: 500, callId: "b", result: "", durationMs: 390 }, { kind: "tool_result", t: 600, callId: "a", result: "", durationMs: 500 },
    { kind: "tool_call", t: 700, callId: "c", tool: "three", args: {} })));
  expect(all(turn.element, ".hc-proc > *").map((row) => [visible(row).slice(0, 9), row.classList.contains("sub")]))
    .toEqual([["2 at once", false], ["one0.5 s", true], ["two0.4 s", true], ["three", false]]);
});

test("R19: tools one after another are not parallel", () => {
  const tool = (start: number, durationMs: number | null) =>
    ({ type: "tool", callId: `${start}`, tool: "x", args: {}, summary: "", risk: null, start, status: "done", result: "", durationMs, truncated: false, blob: null }) as const;
  expect([...atOnce([tool(0, 100), tool(100, 50), tool(149, 10)])]).toEqual([]);
  expect([...atOnce([tool(0, 100), tool(10, 10), tool(90, 100)]).keys()]).toEqual([0, 1, 2]);
});

test("R31: text before more work becomes a row, the newest text is the answer", () => {
  const turn = shown(reduced("r", events("r", started,
    { kind: "answer", t: 1, segment: 0, offset: 0, text: "Let me **look**." },
    { kind: "tool_call", t: 2, callId: "a", tool: "x", args: {} },
    { kind: "answer", t: 3, segment: 1, offset: 0, text: "Found." })));
  vi.advanceTimersByTime(100);
  expect(all(turn.element, ".hc-proc .hc-r").map(visible)).toEqual(["Let me look.", "x"]);
  expect(one(turn.element, ".hc-turn > .hc-md").textContent).toBe("Found.");
});

test.each([
  ["subagent", { kind: "subagent", t: 1, subagentId: "s", state: "started", goal: "Check", text: "…" }, "Subagent · Check"],
  ["context_compacted", { kind: "context_compacted", t: 1, summary: "It was long.", count: 24 }, "First 24 messages compacted"],
  ["notice", { kind: "notice", t: 1, text: "By the way." }, "By the way."],
  ["action_request", { kind: "action_request", t: 1, executionId: "e", action: "run_cell", args: {}, target: "kernel" }, "run_cell"],
  ["an unknown kind", { kind: "from_the_future", t: 1, what: "ever" }, "from_the_future"],
] as const)("R19: %s has a row", (_, body, text) => {
  const turn = shown(reduced("r", events("r", started, body as Parameters<typeof events>[1])));
  expect(visible(one(turn.element, ".hc-proc"))).toBe(text);
});

test("R31: the plan is the newest list, in its own order, with how far it is", () => {
  const plan = (...statuses: ("pending" | "completed" | "cancelled")[]) =>
    ({ kind: "todo_update", t: 1, todos: statuses.map((status, i) => ({ id: `${i}`, content: `step ${i}`, status })) }) as const;
  const first = events("r", started, plan("completed", "pending"));
  const turn = shown(reduced("r", first));
  turn.update(reduced("r", events("r", started, plan("completed", "pending"), plan("pending", "completed", "cancelled", "completed"))));
  expect(visible(one(turn.element, ".hc-todo"))).toBe("Plan2 of 4step 0step 1step 2step 3");
  const bar = one(turn.element, "[role=progressbar]");
  expect([bar.getAttribute("aria-valuenow"), bar.getAttribute("aria-valuemax"), one(bar, "i").style.inlineSize]).toEqual(["2", "4", "50%"]);
});

test("R31: a turn without thinking says how long it took; there is nothing to unfold, and no button for it", () => {
  const turn = shown(reduced("r", events("r", started, { kind: "answer", t: 1, segment: 0, offset: 0, text: "Done." }, complete)));
  expect(visible(one(turn.element, "div.hc-head"))).toBe("Took 9 s · 1.2k tokens");
});

test("R19: how a run can end", () => {
  const end = (...bodies: Parameters<typeof events>[1][]) => visible(one(shown(reduced("r", events("r", started, ...bodies))).element, ".hc-ends"));
  expect(end({ kind: "run_stopped", t: 1, text: "", durationMs: 18_000 })).toBe("Stopped after 18 s");
  expect(end({ kind: "run_error", t: 1, code: "guardrail", message: "Declined.", guardrailsFailureReason: "No keys." })).toBe("Declined.No keys.");
  expect(end({ kind: "run_error", t: 1, code: "model_unreachable", message: "The model does not answer." })).toBe("The model does not answer.Detailsmodel_unreachable");
  expect(end({ kind: "notice", t: 1, text: "The disk is full.", level: "warning" })).toBe("The disk is full.");
});

test("R37: an answered question is one muted row", () => {
  const turn = shown(reduced("r", events("r", started,
    { kind: "clarify_request", t: 1, clarifyId: "q", question: "Which one?", choices: ["A"] },
    { kind: "clarify_resolved", t: 2, clarifyId: "q", status: "answered", answer: "A" })));
  expect(visible(one(turn.element, ".hc-proc"))).toBe("Which one? → A");
  expect(one(turn.element, ".hc-cards").hidden).toBe(true);
});

test("R37: text typed for a question that nobody waits for any more can be sent as a message, once", () => {
  const sent: string[] = [];
  const drafts = new Map([["clarify:q", "half an ans"]]);
  const turn = shown(reduced("r", events("r", started,
    { kind: "clarify_request", t: 1, clarifyId: "q", question: "Which one?", choices: ["A"] }, { kind: "run_error", t: 2, code: "bridge_lost", message: "Lost." })),
  { actions: actions({ send: (text) => sent.push(text) }), draft: (key) => drafts.get(key) ?? "", setDraft: (key, text) => drafts.set(key, text) });
  one(turn.element, ".hc-ends .solid").click();
  expect([sent, drafts.get("clarify:q"), all(turn.element, ".hc-ends .solid")]).toEqual([["half an ans"], "", []]);
});

test("R52: suggestions are sent by a click, and only where something can be sent", () => {
  const state = reduced("r", events("r", started, { kind: "suggestions", t: 1, items: ["Plot it"] }, complete));
  const sent: string[] = [];
  const turn = shown(state, { actions: actions({ send: (text) => sent.push(text) }) });
  one(turn.element, ".hc-sug").click();
  expect(sent).toEqual(["Plot it"]);
  expect(all(shown(state).element, ".hc-sug")).toEqual([]);
});

test("R63: whatever the agent says stays text", () => {
  const evil = "<img src=x onerror=alert(1)><script>alert(1)</script>";
  const turn = shown(reduced("r", events("r", { ...started, model: evil },
    { kind: "thinking", t: 1, segment: 0, offset: 0, text: `${evil}.` },
    { kind: "tool_call", t: 1, callId: "a", tool: evil, args: { [evil]: evil }, summary: evil },
    { kind: "tool_result", t: 2, callId: "a", result: evil },
    { kind: "todo_update", t: 1, todos: [{ id: evil, content: evil, status: "pending" }] },
    { kind: "subagent", t: 1, subagentId: "s", state: "started", goal: evil, text: evil },
    { kind: "notice", t: 1, text: evil, level: "error" },
    { kind: "answer", t: 3, segment: 0, offset: 0, text: evil },
    { kind: "clarify_request", t: 4, clarifyId: "q", question: evil, choices: [evil] },
    { kind: "approval_request", t: 4, approvalId: "p", command: evil, description: evil, choices: ["once", "deny"] })), { actions: actions() });
  openRows(turn);
  vi.advanceTimersByTime(100);
  expect(all(turn.element, "img, script")).toEqual([]);
  expect(turn.element.textContent.split("<img src=x").length).toBeGreaterThan(12);
});

test("R31: the clock of the head runs, and rests while a person thinks", () => {
  const run = events("r", started, { kind: "thinking", t: 5000, segment: 0, offset: 0, text: "x" },
    { kind: "clarify_request", t: 6000, clarifyId: "q", question: "?", choices: [] });
  const turn = shown(reduced("r", run.slice(0, 2)));
  const clock = () => one(turn.element, ".hc-head .hc-time").textContent;
  vi.advanceTimersByTime(3000);
  expect(clock()).toBe("0:08");
  turn.update(reduced("r", run));
  const rests = clock();
  vi.advanceTimersByTime(30_000);
  expect(clock()).toBe(rests);
});

test("R62: rows are operated by keyboard as buttons, and say whether they are open", () => {
  const turn = shown(reduced("r", events("r", started, { kind: "tool_call", t: 1, callId: "a", tool: "x", args: { a: 1 } })));
  const row = one<HTMLButtonElement>(turn.element, ".hc-proc .hc-r");
  expect([row.localName, row.getAttribute("aria-expanded")]).toEqual(["button", "false"]);
  row.click();
  expect(row.getAttribute("aria-expanded")).toBe("true");
  expect(press(row, "Tab").defaultPrevented).toBe(false);
});
