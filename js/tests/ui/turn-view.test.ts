// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FinalBundle, LiveBundle, TurnOptions } from "../../src/ui/contract";
import { renderTurn } from "../../src/ui/turn-view";
import { events, FakePool, reduced } from "./fake-pool";
import { all, html, one, visible } from "./place";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => {
  document.body.replaceChildren();
  vi.useRealTimers();
});

const live: LiveBundle = { version: 1, run: "s.2", session: "s", live: true };
const run = events("s.2", { kind: "run_started", t: 0 }, { kind: "answer", t: 1, segment: 0, offset: 0, text: "Done" },
  { kind: "run_complete", t: 2, text: "Done", durationMs: 2 });
const final: FinalBundle = { version: 1, run: "s.2", session: "s", live: false, state: reduced("s.2", run) };

function output(bundle: LiveBundle | FinalBundle, options: Partial<TurnOptions> = {}) {
  const element = document.createElement("div");
  document.body.append(element);
  const pool = new FakePool();
  const saved: FinalBundle[] = [];
  const rendered = renderTurn(element, bundle, { pool, trusted: true, save: (last) => saved.push(last), ...options });
  const root = one(element, "div").shadowRoot as ShadowRoot;
  const frame = () => vi.advanceTimersByTime(50);
  return { pool, saved, rendered, root, frame, text: () => visible(one(root, ".hc")) };
}

test("R34: a live turn is streamed, and its final bundle is saved once", () => {
  const cell = output(live);
  expect(cell.pool.attached.get("s.2")).toBe(1);
  cell.pool.receive("s.2", ...run.slice(0, 2));
  cell.frame();
  expect(cell.text()).toContain("Done");
  expect(cell.saved).toEqual([]);
  cell.pool.receive("s.2", ...run.slice(2));
  expect(cell.saved).toEqual([final]);
  expect(cell.pool.attached.get("s.2")).toBe(0);
  cell.rendered.update(final);
  cell.rendered.update(live);
  cell.frame();
  expect(cell.saved).toEqual([final]);
});

test("R34: what was saved is drawn on the same nodes", () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...run);
  cell.frame();
  const turn = one(cell.root, ".hc-turn");
  const before = html(turn);
  cell.rendered.update(final);
  expect([one(cell.root, ".hc-turn") === turn, html(turn)]).toEqual([true, before]);
});

test("R32: the stored turn looks as the live one did at its end", () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...run);
  cell.frame();
  expect(html(one(output(final, { pool: null }).root, ".hc-turn"))).toBe(html(one(cell.root, ".hc-turn")));
});

test("R34: a hidden page has no frames, and saves all the same", () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...run);
  expect(cell.saved).toEqual([final]);
});

test("R63: in an untrusted notebook nothing is asked for and nothing is saved", () => {
  const cell = output(live, { trusted: false });
  cell.pool.receive("s.2", ...run);
  cell.frame();
  expect([cell.pool.attached.size, cell.saved, cell.pool.asked]).toEqual([0, [], []]);
  expect(cell.text()).toContain("Trust the notebook");
  expect(output(final, { trusted: false }).text()).toContain("Done");
});

test("R59: without a server a turn that was still running says so", () => {
  expect(output(live, { pool: null }).text()).toContain("no Hermes server is in reach");
});

test("R34: Stop stands in the head, and a question is answered in place", async () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...events("s.2", { kind: "run_started", t: 0 }, { kind: "clarify_request", t: 1, clarifyId: "q", question: "?", choices: ["A"] }));
  cell.frame();
  one(cell.root, ".hc-opt").click();
  one(cell.root, ".hc-head .hc-b").click();
  await vi.advanceTimersByTimeAsync(0);
  expect(cell.pool.asked).toEqual([["answer", "s.2", "q", "A"], ["stop", "s.2", false]]);
  expect(all(cell.root, ".hc-comp")).toEqual([]);
});

test("R25: a Stop that fails says why, and can be tried again", async () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...run.slice(0, 2));
  cell.frame();
  cell.pool.refusal = new Error("The Jupyter server cannot be reached.");
  const stop = one<HTMLButtonElement>(cell.root, ".hc-head .hc-b");
  stop.click();
  await vi.advanceTimersByTimeAsync(0);
  expect([visible(one(cell.root, ".hc-head .bad")), stop.disabled]).toEqual(["The Jupyter server cannot be reached.", false]);
});

test("R24: closing the view lets go of the run and stops nothing", () => {
  const cell = output(live);
  cell.pool.receive("s.2", ...run.slice(0, 1));
  cell.rendered.dispose();
  expect([cell.pool.attached.get("s.2"), cell.pool.asked, document.body.querySelector(".jp-HermesChat")]).toEqual([0, [], null]);
  cell.pool.receive("s.2", ...run.slice(1));
  expect(cell.saved).toEqual([]);
});

test("a run that cannot be loaded says why, and nothing is saved", () => {
  const cell = output(live);
  cell.pool.problem("s.2").value = new Error("This conversation was deleted.");
  expect(cell.text()).toBe("This reply could not be loaded: This conversation was deleted.");
  cell.pool.problem("s.2").value = null;
  expect(cell.text()).not.toContain("could not be loaded");
});

test("R60: the chat is opened from a stored turn where there is one", () => {
  const opened: string[] = [];
  const cell = output(final, { openChat: (id) => opened.push(id) });
  one(cell.root, ".hc-foot button").click();
  expect(opened).toEqual(["s"]);
  expect(all(output(final).root, ".hc-foot button")).toEqual([]);
});

test("R62: boundaries are announced, and a question at once with its choices", () => {
  const cell = output(live);
  const said = () => [one(cell.root, "[role=status]").textContent, one(cell.root, "[role=alert]:not(.hc-note)").textContent];
  expect(said()).toEqual(["", ""]);
  cell.pool.receive("s.2", ...run.slice(0, 2));
  expect(said()).toEqual(["Hermes started to answer", ""]);
  cell.pool.receive("s.2", { kind: "clarify_request", seq: 3, runId: "s.2", t: 2, clarifyId: "q", question: "Which?", choices: ["A", "B"] });
  expect(said()[1]).toBe("Hermes needs an answer: Which? · 1 A · 2 B");
  cell.pool.receive("s.2", { kind: "run_complete", seq: 4, runId: "s.2", t: 9000, text: "Done", durationMs: 9000 });
  expect(said()[0]).toBe("Answer finished: 0 tools, 9 s");
});
