/**
 * Cross-talk is impossible by construction: a run changes by its own events only. Every kind that the protocol has is driven into run A
 * while B is shown; a kind without a sample here turns the test red, in the type check and at run time.
 */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HttpTransport } from "../../src/core/api";
import { Drafts } from "../../src/core/drafts";
import { PagePool } from "../../src/core/pool";
import { initial, type Part, reduce, type TurnState } from "../../src/protocol/reduce";
import type { RunEvent } from "../../src/protocol/types";
import { TestServer } from "./server";

const A = "aaaaaaaa-0000-4000-8000-000000000001.2";
const B = "bbbbbbbb-0000-4000-8000-000000000002.2";

type Kind = RunEvent["kind"];
type Fields<E> = E extends RunEvent ? Omit<E, "kind" | "seq" | "runId" | "t"> : never;
interface Sample<K extends Kind> {
  /** What the run knows already. */
  before?: RunEvent[];
  fields: Fields<Extract<RunEvent, { kind: K }>>;
  /** What has to be there afterwards. */
  shows: Partial<TurnState> | { part: Partial<Part> };
}

const event = (runId: string, seq: number, rest: object): RunEvent => ({ seq, runId, t: seq * 10, ...rest }) as RunEvent;
const first = event(A, 1, { kind: "run_started", model: "m" });
const tool = event(A, 2, { kind: "tool_call", callId: "c", tool: "terminal", args: {} });
const ask = event(A, 2, { kind: "clarify_request", clarifyId: "q", question: "Which?" });
const approval = event(A, 2, { kind: "approval_request", approvalId: "p", command: "rm x" });
const action = event(A, 2, { kind: "action_request", executionId: "x", action: "plot", args: {}, target: "page" });

const samples: { [K in Kind]: Sample<K> } = {
  run_started: { before: [], fields: { model: "m", provider: "p", skill: "s" }, shows: { phase: "running", model: "m", provider: "p", skill: "s" } },
  thinking: { fields: { segment: 0, offset: 0, text: "hm" }, shows: { part: { type: "thinking", text: "hm" } } },
  answer: { fields: { segment: 0, offset: 0, text: "yes" }, shows: { text: "yes" } },
  status: { fields: { text: "busy" }, shows: { status: { text: "busy", level: "info" } } },
  tool_call: { fields: { callId: "c", tool: "terminal", args: {} }, shows: { toolCount: 1 } },
  tool_result: { before: [first, tool], fields: { callId: "c", result: "ok" }, shows: { part: { type: "tool", status: "done", result: "ok" } } },
  todo_update: { fields: { todos: [{ id: "1", content: "a", status: "pending" }] }, shows: { todos: [{ id: "1", content: "a", status: "pending" }] } },
  clarify_request: { fields: { clarifyId: "q", question: "Which?" }, shows: { phase: "waiting", part: { type: "clarify", status: "pending" } } },
  clarify_resolved: { before: [first, ask], fields: { clarifyId: "q", status: "answered", answer: "red" }, shows: { phase: "running", part: { type: "clarify", answer: "red" } } },
  approval_request: { fields: { approvalId: "p", command: "rm x" }, shows: { phase: "waiting", part: { type: "approval", command: "rm x" } } },
  approval_resolved: { before: [first, approval], fields: { approvalId: "p", choice: "once" }, shows: { part: { type: "approval", choice: "once" } } },
  action_request: { fields: { executionId: "x", action: "plot", args: {}, target: "page" }, shows: { part: { type: "action", status: "running" } } },
  action_result: { before: [first, action], fields: { executionId: "x", result: "done" }, shows: { part: { type: "action", result: "done" } } },
  subagent: { fields: { subagentId: "s", state: "started", goal: "look" }, shows: { part: { type: "subagent", goal: "look" } } },
  context_compacted: { fields: { summary: "short", count: 3 }, shows: { part: { type: "compacted", summary: "short", count: 3 } } },
  suggestions: { fields: { items: ["more"] }, shows: { suggestions: ["more"] } },
  usage: { fields: { usage: { input: 3 } }, shows: { usage: { input: 3 } } },
  notice: { fields: { text: "note" }, shows: { part: { type: "notice", text: "note" } } },
  run_complete: { fields: { text: "end", durationMs: 5 }, shows: { phase: "complete", text: "end", durationMs: 5 } },
  run_stopped: { fields: { text: "half", cleaned: false }, shows: { phase: "stopped", text: "half", cleaned: false } },
  run_error: { fields: { code: "bridge_lost", message: "Send again." }, shows: { phase: "error", error: { code: "bridge_lost", message: "Send again.", guardrailsFailureReason: null } } },
};

const schema = JSON.parse(readFileSync(new URL("../../../jupyter_hermes_chat/protocol/schema.json", import.meta.url), "utf8")) as {
  $defs: Record<string, { properties?: { kind?: { enum?: string[]; const?: string }; seq?: unknown; runId?: unknown } }>;
};
/** Run events are the definitions with a kind, a number and a run. */
const kinds = Object.values(schema.$defs).flatMap(({ properties: p }) =>
  (p?.kind && p.seq && p.runId ? (p.kind.enum ?? [p.kind.const ?? ""]) : []));

let server: TestServer;
let pool: PagePool;
const until = (check: () => void) => vi.waitFor(check, { timeout: 5000, interval: 3 });
beforeEach(async () => {
  server = await TestServer.start();
  pool = new PagePool(new HttpTransport({ baseUrl: server.baseUrl }), { drafts: new Drafts(null) });
});
afterEach(async () => {
  pool.dispose();
  await server.stop();
});

test("R29: every kind of the protocol has a sample", () => {
  expect(kinds).toHaveLength(21);
  expect(Object.keys(samples).sort()).toEqual([...kinds].sort());
});

test.each([...kinds, "a kind of a newer version"])("R29: %s in run A changes A only, while B is shown", async (kind) => {
  const sample = (samples as Partial<Record<string, Sample<Kind>>>)[kind] ?? { fields: {}, shows: { part: { type: "unknown", kind } } };
  const before = sample.before ?? [first];
  const last = event(A, before.length + 1, { kind, ...sample.fields });
  const other = [event(B, 1, { kind: "run_started", model: "b" }), event(B, 2, { kind: "answer", segment: 0, offset: 0, text: "B's own" })];
  server.logs.set(A, before);
  server.logs.set(B, other);

  const leave = pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(before.length); });
  await until(() => { expect(pool.connection.value).toBe("open"); });
  leave();
  pool.attach(B);
  await until(() => { expect(pool.run(B).value.seq).toBe(2); });
  const shown = pool.run(B).value;
  let changes = -1;
  const stop = pool.run(B).subscribe(() => { changes++; });

  server.emit(last);
  await until(() => { expect(pool.run(A).value.seq).toBe(last.seq); });
  expect(changes).toBe(0);
  expect(pool.run(B).value).toBe(shown);
  stop();

  // Back to A: everything is there, and it is what a replay of the stored log gives (R32).
  pool.attach(A);
  const { part, ...whole } = sample.shows as { part?: Partial<Part> } & Partial<TurnState>;
  expect(pool.run(A).value).toMatchObject(whole);
  if (part !== undefined) expect(pool.run(A).value.parts.at(-1)).toMatchObject(part);
  expect(pool.run(A).value).toEqual(reduce(A, server.logs.get(A) ?? []).state);
});

test("R29: an event of a run that nobody asked for makes nothing", async () => {
  server.logs.set(B, [event(B, 1, { kind: "run_started" })]);
  pool.attach(B);
  await until(() => { expect(pool.run(B).value.seq).toBe(1); });
  server.send(first);
  server.emit(event(B, 2, { kind: "status", text: "on" }));
  await until(() => { expect(pool.run(B).value.seq).toBe(2); });
  expect(pool.run(A).value).toEqual(initial(A));
});
