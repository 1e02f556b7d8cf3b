// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { events, reduced } from "./fake-pool";
import { actions, all, one, press, shown, type } from "./place";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => {
  document.body.replaceChildren();
  vi.useRealTimers();
});

const asks = reduced("r", events("r", { kind: "run_started", t: 0 },
  { kind: "clarify_request", t: 1, clarifyId: "q", question: "Which one?", choices: ["A", "B"], allowOther: true }));
const closed = reduced("r", events("r", { kind: "run_started", t: 0 },
  { kind: "clarify_request", t: 1, clarifyId: "q", question: "Which one?", choices: ["A", "B"], allowOther: false }));
const risky = reduced("r", events("r", { kind: "run_started", t: 0 },
  { kind: "approval_request", t: 1, approvalId: "p", command: "rm -rf ./b\u202eild\nls", description: "recursive delete", choices: ["once", "session", "deny"] }));

const settle = () => vi.advanceTimersByTimeAsync(0);

test("R37: a choice is taken by click", async () => {
  const does = actions();
  const turn = shown(asks, { actions: does });
  all(turn.element, ".hc-opt")[1]?.click();
  await settle();
  expect(does.taken).toEqual([["answer", "q", "B"]]);
});

test("R37: a choice is taken by its number, and 0 goes to the free text", async () => {
  const does = actions();
  const turn = shown(asks, { actions: does });
  const card = one(turn.element, ".hc-card");
  expect(press(card, "0").defaultPrevented).toBe(true);
  expect(document.activeElement).toBe(one(card, "textarea"));
  press(card, "3");
  press(card, "1", { ctrlKey: true });
  expect(does.taken).toEqual([]);
  press(card, "1");
  await settle();
  expect(does.taken).toEqual([["answer", "q", "A"]]);
});

test("R37: digits in the free text are text; Enter answers, Shift+Enter and an input method do not", async () => {
  const does = actions();
  const turn = shown(asks, { actions: does });
  const field = one<HTMLTextAreaElement>(turn.element, "textarea");
  expect(press(field, "1").defaultPrevented).toBe(false);
  type(field, "the 1st");
  press(field, "Enter", { shiftKey: true });
  press(field, "Enter", { isComposing: true });
  // What Safari sends behind the end of a composition.
  press(field, "Enter", JSON.parse('{"keyCode":229}') as KeyboardEventInit);
  expect(does.taken).toEqual([]);
  press(field, "Enter");
  await settle();
  expect(does.taken).toEqual([["answer", "q", "the 1st"]]);
});

test("R37: without free text there is no field, and 0 does nothing", () => {
  const turn = shown(closed, { actions: actions() });
  expect(all(turn.element, "textarea")).toEqual([]);
  expect(press(one(turn.element, ".hc-card"), "0").defaultPrevented).toBe(false);
});

test("R37: what is typed is a draft of this question until it is answered", async () => {
  const drafts = new Map([["clarify:q", "so far"]]);
  const place = { actions: actions(), draft: (key: string) => drafts.get(key) ?? "", setDraft: (key: string, text: string) => { drafts.set(key, text); } };
  const field = one<HTMLTextAreaElement>(shown(asks, place).element, "textarea");
  expect(field.value).toBe("so far");
  type(field, "so far, so good");
  expect(drafts.get("clarify:q")).toBe("so far, so good");
  press(field, "Enter");
  await settle();
  expect(drafts.get("clarify:q")).toBe("");
});

test("R37: an answer is sent once; a refused one leaves the card open, with the reason", async () => {
  const refusals = [new Error("Somebody has answered already.")];
  const taken: string[] = [];
  let answered = 0;
  const turn = shown(asks, { answered: () => { answered++; }, actions: actions({ answer: (_, text) => {
    taken.push(text);
    const refusal = refusals.shift();
    return refusal ? Promise.reject(refusal) : Promise.resolve();
  } }) });
  const [first, second] = all(turn.element, ".hc-opt");
  first?.click();
  second?.click();
  press(one(turn.element, ".hc-card"), "2");
  await settle();
  expect([taken, one(turn.element, ".hc-note.bad").textContent, answered]).toEqual([["A"], "Somebody has answered already.", 0]);
  second?.click();
  await settle();
  expect([taken, one(turn.element, ".hc-note.bad").hidden, answered]).toEqual([["A", "B"], true, 1]);
});

test("R37: where nobody can answer there is nothing to press", () => {
  const turn = shown(asks);
  expect(all(turn.element, ".hc-card button").every((button) => (button as HTMLButtonElement).disabled)).toBe(true);
  expect(all(shown(risky).element, ".hc-card button")).toEqual([]);
});

test("R38: the command is exact, and what hides in it is shown", () => {
  const turn = shown(risky, { actions: actions() });
  const command = one(turn.element, ".hc-cmd");
  expect([command.textContent, command.dir]).toEqual(["rm -rf ./bU+202Eild\u23ce\nls", "ltr"]);
  expect(one(command, ".hc-cc").textContent).toBe("U+202E");
  expect(turn.element.textContent).toContain("One hidden character is shown in red.");
});

test("R38: nothing is taken as an answer in the first half second", async () => {
  const does = actions();
  const turn = shown(risky, { actions: does });
  const card = one(turn.element, ".hc-card");
  vi.advanceTimersByTime(499);
  all(card, "button")[0]?.click();
  press(card, "1");
  await settle();
  expect(does.taken).toEqual([]);
  vi.advanceTimersByTime(1);
  all(card, "button")[0]?.click();
  await settle();
  expect(does.taken).toEqual([["approve", "p", "once"]]);
});

test("R38: the choices are the run's, Deny is always the last, and keys count from 1", async () => {
  const does = actions();
  const turn = shown(risky, { actions: does });
  const card = one(turn.element, ".hc-card");
  expect(all(card, "button").map((button) => button.textContent)).toEqual(["1Allow once", "2This chat", "3Deny"]);
  vi.advanceTimersByTime(500);
  press(card, "4");
  press(card, "3");
  await settle();
  expect(does.taken).toEqual([["approve", "p", "deny"]]);
});

test("R38: a command that came without choices can still be denied", () => {
  const turn = shown(reduced("r", events("r", { kind: "run_started", t: 0 }, { kind: "approval_request", t: 1, approvalId: "p", command: "x" })), { actions: actions() });
  expect(all(turn.element, ".hc-card button").map((button) => button.textContent)).toEqual(["1Deny"]);
});

test("R38: in the record of a turn hidden characters stay visible", () => {
  const turn = shown(reduced("r", events("r", { kind: "run_started", t: 0 }, { kind: "approval_request", t: 1, approvalId: "p", command: "a\u200bb" },
    { kind: "approval_resolved", t: 2, approvalId: "p", choice: "once" })));
  expect(one(turn.element, ".hc-proc .hc-clip").textContent).toBe("a[U+200B]b");
});
