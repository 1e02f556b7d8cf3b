import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, HttpTransport, Unreachable } from "../../src/core/api";
import { Drafts } from "../../src/core/drafts";
import { type FeedTimes, TIMES, type Visibility } from "../../src/core/feed";
import { PagePool, poolAt } from "../../src/core/pool";
import { LogDamaged } from "../../src/core/run";
import { initial } from "../../src/protocol/reduce";
import type { RunEvent } from "../../src/protocol/types";
import { message, sessionView, TestServer } from "./server";

const A = "aaaaaaaa-0000-4000-8000-000000000001.2";
const B = "bbbbbbbb-0000-4000-8000-000000000002.2";

class Page implements Visibility {
  hidden = false;
  #changed: (() => void)[] = [];
  subscribe(changed: () => void): () => void {
    this.#changed.push(changed);
    return () => { this.#changed = []; };
  }

  hide(hidden: boolean): void {
    this.hidden = hidden;
    for (const changed of this.#changed) changed();
  }
}

const FAST: FeedTimes = { firstWait: 20, longestWait: 100, patience: 5000, hidden: 60, poll: 50 };

let server: TestServer;
let page: Page;
let pools: PagePool[];
beforeEach(async () => {
  server = await TestServer.start();
  page = new Page();
  pools = [];
});
afterEach(async () => {
  for (const pool of pools) pool.dispose();
  await server.stop();
});

function makePool(times: Partial<FeedTimes> = {}): PagePool {
  const pool = new PagePool(new HttpTransport({ baseUrl: server.baseUrl }), { visibility: page, times: { ...FAST, ...times }, drafts: new Drafts(null) });
  pools.push(pool);
  return pool;
}

const started = (runId: string): RunEvent => ({ kind: "run_started", seq: 1, runId, t: 0, model: "m" });
const answer = (runId: string, seq: number, offset: number, text: string): RunEvent => ({ kind: "answer", seq, runId, t: seq, segment: 0, offset, text });
const complete = (runId: string, seq: number, text: string): RunEvent => ({ kind: "run_complete", seq, runId, t: seq, text, durationMs: 9 });
const logs = (runId: string) => `messages/${runId}/logs`;
const loads = (runId: string) => server.count("GET", logs(runId));
const streams = () => server.asked.filter((a) => a.path.startsWith("stream"));
const until = (check: () => void) => vi.waitFor(check, { timeout: 5000, interval: 5 });
const text = (pool: PagePool, runId: string) => pool.run(runId).value.text;
/** The server has answered a request that was sent after everything before, so nothing else is under way. */
const settled = async (pool: PagePool) => { await pool.transport.request("GET", "runs/x/state").catch(() => undefined); };

test("nothing is asked of the server before somebody asks for something", async () => {
  const pool = makePool();
  expect(pool.run(A).value).toEqual(initial(A));
  expect(pool.connection.value).toBe("paused");
  await settled(pool);
  expect(server.asked).toHaveLength(1);
});

test("R35: one stream serves all runs of a page, and every run its own log", async () => {
  server.logs.set(A, [started(A), answer(A, 2, 0, "Hel")]);
  server.logs.set(B, [started(B)]);
  const pool = makePool();
  pool.attach(A);
  pool.attach(A);
  pool.attach(B);
  await until(() => { expect([text(pool, A), pool.run(B).value.phase]).toEqual(["Hel", "running"]); });
  server.emit(answer(A, 3, 3, "lo"));
  server.emit(answer(B, 2, 0, "Hi"));
  await until(() => { expect([text(pool, A), text(pool, B)]).toEqual(["Hello", "Hi"]); });
  expect(streams()).toHaveLength(1);
  expect([loads(A), loads(B)]).toEqual([1, 1]);
});

test("R24: history is loaded only after `sync`, and what came meanwhile follows it", async () => {
  server.syncBody = null;
  server.logs.set(A, [started(A), answer(A, 2, 0, "one ")]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(server.streams.size).toBe(1); });
  await settled(pool);
  expect(loads(A)).toBe(0);

  const release = server.hold(logs(A));
  server.frame("sync", { runs: [], revisions: {} });
  await until(() => { expect(loads(A)).toBe(1); });
  expect(pool.connection.value).toBe("open");
  server.send(answer(A, 3, 4, "two "));
  server.send(answer(A, 4, 8, "three"));
  await settled(pool);
  release();
  await until(() => { expect(text(pool, A)).toBe("one two three"); });
  expect(loads(A)).toBe(1);
});

test("reading does not depend on the stream: without `sync`, history is loaded all the same", async () => {
  server.syncBody = null;
  server.logs.set(A, [started(A), answer(A, 2, 0, "x"), complete(A, 3, "x")]);
  const pool = makePool({ patience: 50 });
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.phase).toBe("complete"); });
});

test("R24: without a stream the page says so, reads the log, and asks for the state at intervals", async () => {
  server.answers.set("GET stream", () => ({ status: 502, body: {} }));
  server.answers.set(`GET stream?after=${A}:2`, () => ({ status: 502, body: {} }));
  server.answers.set(`GET stream?after=${A}:3`, () => ({ status: 502, body: {} }));
  server.logs.set(A, [started(A), answer(A, 2, 0, "x")]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(text(pool, A)).toBe("x"); });
  expect(pool.connection.value).toBe("reconnecting");
  server.logs.get(A)?.push(answer(A, 3, 1, "y"));
  await until(() => { expect(text(pool, A)).toBe("xy"); });
  expect(server.count("GET", `runs/${A}/state`)).toBeGreaterThan(0);
  // Nothing new is not loaded again.
  const before = loads(A);
  const asked = server.count("GET", `runs/${A}/state`);
  await until(() => { expect(server.count("GET", `runs/${A}/state`)).toBeGreaterThan(asked + 1); });
  expect(loads(A)).toBe(before);
});

test("R24: a broken stream is opened again behind what is known, and what was missed is loaded", async () => {
  server.logs.set(A, [started(A), answer(A, 2, 0, "one ")]);
  const pool = makePool();
  const seen: string[] = [];
  pool.connection.subscribe((state) => seen.push(state));
  pool.attach(A);
  await until(() => { expect(text(pool, A)).toBe("one "); });
  server.drop();
  server.logs.set(A, [started(A), answer(A, 2, 0, "one "), answer(A, 3, 4, "two"), complete(A, 4, "one two")]);
  await until(() => { expect(pool.run(A).value.phase).toBe("complete"); });
  expect(seen).toEqual(["paused", "connecting", "open", "reconnecting", "open"]);
  expect(streams().map((a) => a.path)).toEqual(["stream", `stream?after=${A}:2`]);
  expect(text(pool, A)).toBe("one two");
});

test("R24: waits between attempts grow, and `sync` resets them", async () => {
  server.answers.set("GET stream", () => ({ status: 503, body: {} }));
  const pool = makePool({ longestWait: 10_000 });
  pool.attach(A);
  await until(() => { expect(streams()).toHaveLength(6); });
  server.answers.clear();
  await until(() => { expect(pool.connection.value).toBe("open"); });
  const began = performance.now();
  server.drop();
  await until(() => { expect(streams()).toHaveLength(8); });
  // Without the reset it would be the seventh wait: 640–1280 ms.
  expect(performance.now() - began).toBeLessThan(600);
});

test("R24: every `sync` reloads the unfinished runs that are shown, and no others", async () => {
  server.logs.set(A, [started(A)]);
  server.logs.set(B, [started(B), complete(B, 2, "")]);
  const C = B.replace(".2", ".4");
  server.logs.set(C, [started(C)]);
  const pool = makePool();
  pool.attach(A);
  pool.attach(B);
  const leave = pool.attach(C);
  await until(() => { expect([A, B, C].map((id) => pool.run(id).value.seq)).toEqual([1, 2, 1]); });
  leave();
  server.frame("sync", { runs: [], revisions: {} });
  await until(() => { expect(loads(A)).toBe(2); });
  await settled(pool);
  expect([loads(B), loads(C)]).toEqual([1, 1]);
});

test("a gap in numbers or offsets reloads the run, one load at a time", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  server.logs.set(A, [started(A), answer(A, 2, 0, "ab"), answer(A, 3, 2, "cd"), answer(A, 4, 4, "ef"), answer(A, 5, 6, "gh")]);
  const release = server.hold(logs(A));
  server.send(answer(A, 4, 4, "ef"));
  server.send(answer(A, 9, 90, "!"));
  server.send(answer(A, 5, 6, "gh"));
  await until(() => { expect(loads(A)).toBe(2); });
  await settled(pool);
  release();
  await until(() => { expect(text(pool, A)).toBe("abcdefgh"); });
  expect(server.most.get(logs(A))).toBe(1);
});

test("a log that lags behind the stream is asked for again until it fits", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  server.send(answer(A, 4, 4, "ef"));
  await until(() => { expect(loads(A)).toBeGreaterThan(1); });
  expect(text(pool, A)).toBe("");
  server.logs.set(A, [started(A), answer(A, 2, 0, "ab"), answer(A, 3, 2, "cd")]);
  await until(() => { expect(text(pool, A)).toBe("abcdef"); });
});

test("doubled events, on the wire and between wire and log, change nothing", async () => {
  const all = [started(A), answer(A, 2, 0, "ab"), { ...answer(A, 3, 2, "cdef"), seqEnd: 4 } as RunEvent];
  server.logs.set(A, all);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(text(pool, A)).toBe("abcdef"); });
  let changes = -1;
  const stop = pool.run(A).subscribe(() => { changes++; });
  for (const event of [...all, ...all]) server.send(event);
  server.emit(answer(A, 5, 6, "!"));
  await until(() => { expect(text(pool, A)).toBe("abcdef!"); });
  expect(changes).toBe(1);
  stop();
});

test("a run that the server does not know has a problem, and is not asked for again and again", async () => {
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.problem(A).value).toBeInstanceOf(ApiError); });
  expect(pool.problem(A).value).toMatchObject({ code: "run_not_found" });
  await until(() => { expect(pool.connection.value).toBe("open"); });
  expect(loads(A)).toBe(1);
});

test("a server that stumbles is asked again", async () => {
  server.logs.set(A, [started(A)]);
  let times = 0;
  server.answers.set(`GET ${logs(A)}`, () => (times++ === 0 ? { status: 500, body: {} } : undefined));
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.problem(A).value).toBeInstanceOf(ApiError); });
  await until(() => { expect([pool.problem(A).value, pool.run(A).value.seq]).toEqual([null, 1]); });
});

test("a stored log with a hole is a problem; what lies before the hole is shown", async () => {
  server.logs.set(A, [started(A), answer(A, 2, 0, "ab"), answer(A, 4, 2, "ef")]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.problem(A).value).toBeInstanceOf(LogDamaged); });
  expect(text(pool, A)).toBe("ab");
});

test("R35: leaving a run does not cut it, and coming back shows everything", async () => {
  server.logs.set(A, [started(A)]);
  server.logs.set(B, [started(B)]);
  const pool = makePool();
  const leave = pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  leave();
  leave();
  pool.attach(B);
  server.emit(answer(A, 2, 0, "while away"));
  server.emit(answer(B, 2, 0, "b"));
  await until(() => { expect(text(pool, B)).toBe("b"); });
  pool.attach(A);
  expect(text(pool, A)).toBe("while away");
  expect(streams()).toHaveLength(1);
});

test("a hidden page gives its stream back, goes on by polling, and repairs on return", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  page.hide(true);
  await until(() => { expect([pool.connection.value, server.streams.size]).toEqual(["paused", 0]); });
  server.logs.get(A)?.push(answer(A, 2, 0, "polled"));
  await until(() => { expect(text(pool, A)).toBe("polled"); });
  server.logs.get(A)?.push(answer(A, 3, 6, " and synced"), complete(A, 4, "polled and synced"));
  page.hide(false);
  await until(() => { expect([pool.connection.value, pool.run(A).value.phase]).toEqual(["open", "complete"]); });
});

test("a page that is hidden for a moment keeps its stream", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool({ hidden: 200 });
  pool.attach(A);
  await until(() => { expect(pool.connection.value).toBe("open"); });
  page.hide(true);
  page.hide(false);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect([pool.connection.value, streams().length]).toEqual(["open", 1]);
});

test("a page that becomes busy while it is hidden gives its stream back too", async () => {
  page.hidden = true;
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  expect(pool.connection.value).toBe("connecting");
  await until(() => { expect(pool.connection.value).toBe("paused"); });
});

test("a changed session is loaded again where it is shown, and the list where somebody has seen it", async () => {
  server.sessions.set("s", sessionView("s"));
  server.sessions.set("t", sessionView("t"));
  const pool = makePool();
  await pool.session("s").load();
  await until(() => { expect(pool.connection.value).toBe("open"); });
  server.frame("session_changed", { sessionId: "t", revision: 2 });
  server.sessions.set("s", sessionView("s", [message("s", 1)], { revision: 2 }));
  server.frame("session_changed", { sessionId: "s", revision: 2 });
  await until(() => { expect(pool.session("s").messages.value).toHaveLength(1); });
  expect(server.asked.filter((a) => a.path.startsWith("sessions")).map((a) => a.path)).toEqual(["sessions/s", "sessions/s"]);

  await pool.refreshSessions();
  server.sessions.set("u", sessionView("u"));
  server.frame("session_changed", { sessionId: "u", revision: 1 });
  await until(() => { expect(pool.sessions.value?.map((item) => item.session.id)).toEqual(["s", "t", "u"]); });
});

test("`sync` reloads a session whose revision has changed, and no other", async () => {
  server.sessions.set("s", sessionView("s", [], { revision: 3 }));
  server.sessions.set("t", sessionView("t", [], { revision: 5 }));
  const pool = makePool();
  await Promise.all([pool.session("s").load(), pool.session("t").load()]);
  await until(() => { expect(pool.connection.value).toBe("open"); });
  await settled(pool);
  const before = server.count("GET", "sessions/s");
  server.frame("sync", { runs: [], revisions: { s: 3, t: 6 } });
  await until(() => { expect(server.count("GET", "sessions/t")).toBeGreaterThan(1); });
  await settled(pool);
  expect(server.count("GET", "sessions/s")).toBe(before);
});

test("a session that is deleted, here or elsewhere, leaves the list and says so", async () => {
  server.sessions.set("s", sessionView("s"));
  server.sessions.set("t", sessionView("t"));
  server.answers.set("DELETE sessions/t", () => ({ status: 204, body: null }));
  const pool = makePool();
  await pool.refreshSessions();
  await pool.session("s").load();
  await until(() => { expect(pool.connection.value).toBe("open"); });
  server.frame("session_changed", { sessionId: "s", revision: 0 });
  await until(() => { expect(pool.sessions.value?.map((item) => item.session.id)).toEqual(["t"]); });
  expect(pool.session("s").error.value).toMatchObject({ code: "session_not_found" });
  await pool.deleteSession("t");
  expect(pool.sessions.value).toEqual([]);
});

test("R32: the logs that come with a session show its runs without a request for each", async () => {
  const done = [started(A), answer(A, 2, 0, "old"), complete(A, 3, "old")];
  const id = A.slice(0, -2);
  server.sessions.set(id, sessionView(id, [message(id, 1), message(id, 2, { runId: A }, done)]));
  const pool = makePool();
  await pool.session(id).load();
  pool.attach(A);
  expect(pool.run(A).value).toMatchObject({ phase: "complete", text: "old" });
  await settled(pool);
  expect(loads(A)).toBe(0);
});

test("older messages are put in front, and stay when the session is loaded again", async () => {
  const all = Array.from({ length: 8 }, (_, i) => message("s", i + 1));
  server.sessions.set("s", sessionView("s", all.slice(4, 6), { hasMore: true }));
  server.answers.set("GET sessions/s/messages?before=s.5&limit=50", () => ({ status: 200, body: { messages: all.slice(2, 4), hasMore: true } }));
  const pool = makePool();
  const session = pool.session("s");
  await session.load();
  await session.loadOlder();
  const shown = () => session.messages.value.map((m) => m.message.id);
  expect(shown()).toEqual(["s.3", "s.4", "s.5", "s.6"]);
  server.sessions.set("s", sessionView("s", all.slice(6, 8), { hasMore: true, revision: 2 }));
  await session.load();
  expect([shown(), session.hasMore.value]).toEqual([["s.3", "s.4", "s.5", "s.6", "s.7", "s.8"], true]);
  // Another branch has nothing in common with what stood above.
  server.sessions.set("s", sessionView("s", [message("s", 10, { parentId: "s.9" })], { hasMore: false, revision: 3 }));
  await session.load();
  expect([shown(), session.hasMore.value]).toEqual([["s.10"], false]);
});

test("a session that cannot be loaded says why and keeps what it has", async () => {
  server.sessions.set("s", sessionView("s", [message("s", 1)]));
  const pool = makePool();
  const session = pool.session("s");
  await session.load();
  server.drop();
  await server.stop();
  await session.load();
  expect(session.error.value).toBeInstanceOf(Unreachable);
  expect(session.messages.value).toHaveLength(1);
  server = await TestServer.start();
});

test("loads of a session asked for at once are two: the one under way and one behind it", async () => {
  server.sessions.set("s", sessionView("s"));
  const pool = makePool();
  const release = server.hold("sessions/s");
  const asked = Array.from({ length: 9 }, () => pool.session("s").load());
  await until(() => { expect(server.count("GET", "sessions/s")).toBe(1); });
  release();
  await Promise.all(asked);
  expect([server.count("GET", "sessions/s"), server.most.get("sessions/s")]).toEqual([2, 1]);
});

test("R35: a run that was started is the session's active one at once, until it has ended", async () => {
  const id = A.slice(0, -2);
  server.sessions.set(id, sessionView(id, [], { activeRunId: A }));
  server.logs.set(A, [started(A)]);
  server.answers.set(`POST sessions/${id}/runs`, () => ({ status: 202, body: { runId: A, messageId: A, userMessageId: `${id}.1` } }));
  const pool = makePool();
  const release = server.hold(`sessions/${id}`);
  await pool.start(id, { message: "hello" });
  expect(pool.session(id).activeRunId.value).toBe(A);
  release();
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  server.emit(complete(A, 2, "hi"));
  await until(() => { expect(pool.session(id).activeRunId.value).toBeNull(); });
  expect(server.asked.find((a) => a.method === "POST")?.body).toEqual({ message: "hello" });
});

test("R37: a second answer is refused as the server says it", async () => {
  server.answers.set(`POST runs/${A}/resume`, () => ({ status: 409, body: { error: { code: "already_answered", message: "Ada answered.", details: {} } } }));
  const pool = makePool();
  await expect(pool.answer(A, "q1", "blue")).rejects.toMatchObject({ code: "already_answered" });
  expect(server.asked.find((a) => a.method === "POST")?.body).toEqual({ clarifyId: "q1", answer: "blue" });
});

test("R24: an answer given while there is no stream is followed by a look at the log", async () => {
  server.answers.set("GET stream", () => ({ status: 502, body: {} }));
  const ask: RunEvent = { kind: "approval_request", seq: 2, runId: A, t: 2, approvalId: "p", command: "rm x" };
  server.logs.set(A, [started(A), ask]);
  const pool = makePool({ poll: 100_000, firstWait: 100_000 });
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.phase).toBe("waiting"); });
  server.answers.set(`POST runs/${A}/approve`, () => {
    server.logs.get(A)?.push({ kind: "approval_resolved", seq: 3, runId: A, t: 3, approvalId: "p", choice: "once" });
    return { status: 200, body: {} };
  });
  await pool.approve(A, "p", "once");
  await until(() => { expect(pool.run(A).value.phase).toBe("running"); });
});

test("stop tells whether the run ended cleanly", async () => {
  server.answers.set(`POST runs/${A}/stop`, ({ body }) => ({ status: 200, body: { success: true, cleaned: !(body as { force: boolean }).force } }));
  const pool = makePool();
  expect(await pool.stop(A)).toEqual({ success: true, cleaned: true });
  expect(await pool.stop(A, true)).toEqual({ success: true, cleaned: false });
});

test("models, skills and health are read together", async () => {
  server.answers.set("GET models", () => ({ status: 200, body: { models: [], defaultId: null, configured: false, tour: true } }));
  server.answers.set("GET skills", () => ({ status: 200, body: { skills: [] } }));
  server.answers.set("GET health", () => ({ status: 200, body: { version: "1", core: null, bridge: "running", tour: true, hermes: null, capabilities: [], dataFolder: null, problem: null } }));
  const pool = makePool();
  await pool.refreshModels();
  expect([pool.models.value?.tour, pool.skills.value?.skills, pool.health.value?.bridge]).toEqual([true, [], "running"]);
});

test("a new session shows up in a list that was read", async () => {
  server.answers.set("POST sessions", () => {
    server.sessions.set("n", sessionView("n"));
    return { status: 201, body: { sessionId: "n" } };
  });
  const pool = makePool();
  await pool.refreshSessions();
  expect(await pool.createSession({ modelId: "tour/hermes-tour" })).toBe("n");
  await until(() => { expect(pool.sessions.value).toHaveLength(1); });
});

test("a subscriber that throws is reported and does not end the stream", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(pool.run(A).value.seq).toBe(1); });
  const reported = new Promise((resolve) => {
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.once("uncaughtException", (error) => {
      for (const listener of before) process.on("uncaughtException", listener);
      resolve(error);
    });
  });
  const stop = pool.run(A).subscribe((state) => { if (state.seq === 2) throw new Error("a view broke"); });
  server.emit(answer(A, 2, 0, "x"));
  expect(await reported).toMatchObject({ message: "a view broke" });
  stop();
  await until(() => { expect(pool.connection.value).toBe("open"); });
  server.emit(answer(A, 3, 1, "y"));
  await until(() => { expect(text(pool, A)).toBe("xy"); });
});

test("a page has one pool per server, whoever asks", () => {
  const one = poolAt({ baseUrl: server.baseUrl });
  expect(poolAt({ baseUrl: server.baseUrl.slice(0, -1) })).toBe(one);
  expect(poolAt({ baseUrl: `${server.baseUrl}other` })).not.toBe(one);
  const kept = (globalThis as unknown as Record<symbol, { pools: Map<string, unknown> }>)[Symbol.for("jupyter-hermes-chat")];
  expect(kept?.pools.get(server.baseUrl)).toBe(one);
  one.dispose();
});

test("a pool that is disposed closes its stream and asks for nothing more", async () => {
  server.logs.set(A, [started(A)]);
  const pool = makePool();
  pool.attach(A);
  await until(() => { expect(server.streams.size).toBe(1); });
  pool.dispose();
  await until(() => { expect(server.streams.size).toBe(0); });
  const asked = server.asked.length;
  pool.attach(A);
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(server.asked).toHaveLength(asked);
});

test("the times are those of the design", () => {
  expect(TIMES).toMatchObject({ hidden: 30_000, poll: 30_000 });
});
