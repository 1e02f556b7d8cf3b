// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mount } from "../../src/ui/mount";
import { type Body, events, FakePool, message, sessionItem } from "./fake-pool";
import { all, html, one, press, type, visible } from "./place";

beforeEach(() => {
  vi.useFakeTimers();
  // jsdom lays nothing out, so there is nothing to scroll to.
  Element.prototype.scrollIntoView = () => undefined;
});
afterEach(() => {
  document.body.replaceChildren();
  document.documentElement.lang = "";
  delete document.body.dataset.jpThemeName;
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(60);

async function chat(pool = new FakePool(), sessionId: string | null = null) {
  const element = document.createElement("div");
  document.body.append(element);
  const view = mount(element, { pool, sessionId });
  const host = one(element, "div");
  const root = host.shadowRoot as ShadowRoot;
  await settle();
  return {
    pool, view, host, root,
    field: one<HTMLTextAreaElement>(root, ".hc-input"),
    send: () => one<HTMLButtonElement>(root, ".hc-send"),
    said: () => all(root, ".hc-flow > *").map((item) => visible(item)),
    press: async (element: Element, key: string, more?: KeyboardEventInit) => { const event = press(element, key, more); await settle(); return event; },
    write: async (text: string) => { type(one<HTMLTextAreaElement>(root, ".hc-input"), text); await settle(); },
    click: async (selector: string) => { one(root, selector).click(); await settle(); },
  };
}

function withSession(pool: FakePool, id: string, title: string): ReturnType<FakePool["session"]> {
  const session = pool.session(id);
  session.view.value = { session: sessionItem(id, title).session, messages: [], hasMore: false, activeRunId: null };
  return session;
}

test("R34: the host keeps Lab's shortcuts and Lab's own editing away", async () => {
  const { host, root, field } = await chat();
  expect(host.dataset.lmSuppressShortcuts).toBe("true");
  const heard: Event[] = [];
  document.addEventListener("beforeinput", (event) => heard.push(event), { once: true });
  field.dispatchEvent(new InputEvent("beforeinput", { bubbles: true, composed: true }));
  expect(heard).toEqual([]);
  expect(root.mode).toBe("open");
});

test("R62: Lab's high contrast theme is followed", async () => {
  const { root } = await chat();
  expect(one(root, ".hc").dataset.contrast).toBeUndefined();
  document.body.dataset.jpThemeName = "JupyterLab Dark High Contrast";
  await settle();
  expect(one(root, ".hc").dataset.contrast).toBe("more");
});

test("R61: the language is the page's", async () => {
  document.documentElement.lang = "zh_CN";
  const { root } = await chat();
  expect([visible(one(root, ".hc-empty h2")), one(root, ".hc").lang]).toEqual(["想让 Hermes 看点什么？", "zh-CN"]);
});

test("R3: the first message of a new chat makes its session; Enter sends it", async () => {
  const page = await chat();
  await page.write("Hello");
  expect((await page.press(page.field, "Enter")).defaultPrevented).toBe(true);
  expect(page.pool.asked).toEqual([["createSession", {}], ["start", "session-1", { message: "Hello" }]]);
  expect([page.view.sessionId.value, page.field.value, page.said()[0]]).toEqual(["session-1", "", "Hello"]);
  expect(page.pool.attached.get("session-1.4")).toBe(1);
});

test("R31: a message that is on its way has its turn at once", async () => {
  const pool = new FakePool();
  let accept: (id: string) => void = () => undefined;
  pool.createSession = () => new Promise((resolve) => { accept = resolve; });
  const page = await chat(pool);
  await page.write("Hello");
  await page.click(".hc-send");
  expect([page.said(), pool.attached.size]).toEqual([["Hello", "Starting0:00"], 0]);
  accept("s");
  await settle();
  expect([page.said().length, [...pool.attached.keys()]]).toEqual([2, ["s.2"]]);
});

test("R3: the messages that come back are drawn on the nodes of what was sent", async () => {
  const page = await chat();
  await page.write("Hello");
  await page.click(".hc-send");
  page.pool.receive("session-1.4", ...events("session-1.4", { kind: "run_started", t: 0 }, { kind: "answer", t: 1, segment: 0, offset: 0, text: "Hi" }));
  await settle();
  const [bubble, turn] = all(page.root, ".hc-flow > *");
  page.pool.session("session-1").messages.value = [message("session-1.3", "USER", "Hello"), message("session-1.4", "ASSISTANT", "", "RUNNING")];
  await settle();
  expect(all(page.root, ".hc-flow > *")).toEqual([bubble, turn]);
  expect(page.said()[1]).toContain("Hi");
});

test("Shift+Enter is a new line, and an input method keeps its Enter", async () => {
  const page = await chat();
  await page.write("你好");
  for (const more of [{ shiftKey: true }, { isComposing: true }]) {
    expect((await page.press(page.field, "Enter", more)).defaultPrevented).toBe(false);
  }
  await page.write("   ");
  await page.press(page.field, "Enter");
  expect([page.pool.asked, page.send().disabled]).toEqual([[], true]);
});

test("R16: while a run goes on nothing is sent, Stop stands there, and what is typed stays", async () => {
  const pool = new FakePool();
  const session = withSession(pool, "s", "A chat");
  session.messages.value = [message("s.1", "USER", "Go"), message("s.2", "ASSISTANT", "", "RUNNING")];
  session.activeRunId.value = "s.2";
  const page = await chat(pool, "s");
  await page.write("next");
  await page.press(page.field, "Enter");
  expect([page.pool.asked, page.field.value, page.send().disabled, page.send().title]).toEqual([[], "next", true, "You can send when this reply has ended"]);
  await page.click(".hc-stop");
  expect(page.pool.asked).toEqual([["stop", "s.2", false]]);
  session.activeRunId.value = null;
  await settle();
  expect([all(page.root, ".hc-stop"), page.send().disabled, page.pool.draft("s")]).toEqual([[], false, "next"]);
});

test("R25: a reply that has not really ended is not forgotten, and can be stopped for good", async () => {
  const pool = new FakePool();
  withSession(pool, "s", "A chat").activeRunId.value = "s.2";
  pool.stop = (runId, force) => { pool.asked.push(["stop", runId, force]); return Promise.resolve({ success: true, cleaned: force ?? false }); };
  const page = await chat(pool, "s");
  await page.click(".hc-stop");
  expect(visible(one(page.root, ".hc-notice"))).toBe("The last reply is still finishing.Stop now");
  await page.click(".hc-notice button");
  expect([pool.asked, all(page.root, ".hc-notice")]).toEqual([[["stop", "s.2", false], ["stop", "s.2", true]], []]);
});

test("a refused message is a draft again, with the server's sentence", async () => {
  const page = await chat(new FakePool(), "s");
  page.pool.refusal = new Error("Five replies are running already.");
  await page.write("Hello");
  await page.click(".hc-send");
  expect([visible(one(page.root, ".hc-notice")), page.field.value, page.pool.draft("s"), page.said()]).toEqual(["Five replies are running already.", "Hello", "Hello", []]);
  await page.click(".hc-notice button");
  expect(all(page.root, ".hc-notice")).toEqual([]);
});

test("R2: model and skill are chosen for this chat, and the first entry clears the choice", async () => {
  const page = await chat();
  page.pool.models.value = { tour: false, configured: true, defaultId: null, models: [{ id: "p/m", provider: "p", model: "m", name: "Sonata", contextLength: 128_000 }] };
  page.pool.skills.value = { skills: [{ folder: "clean", name: "clean", description: "", category: "" }] };
  await settle();
  const pick = async (which: number, key: string) => {
    all(page.root, ".hc-sel")[which]?.click();
    await settle();
    const list = one(page.root, "[role=listbox]");
    await page.press(list, key);
    await page.press(list, "Enter");
  };
  await pick(0, "ArrowDown");
  await pick(1, "End");
  expect(all(page.root, ".hc-sel").map(visible)).toEqual(["Sonata (m)", "clean"]);
  await pick(1, "Home");
  await page.write("Hello");
  await page.click(".hc-send");
  expect(page.pool.asked.at(-1)).toEqual(["start", "session-1", { message: "Hello", modelId: "p/m", skillFolder: null }]);
});

test("R36: a menu closes by Escape, and the focus goes back to what opened it", async () => {
  const page = await chat();
  await page.click(".hc-pick:not(.sk) .hc-sel");
  await page.press(one(page.root, "[role=listbox]"), "Escape");
  expect([all(page.root, "[role=listbox]"), page.root.activeElement]).toEqual([[], one(page.root, ".hc-pick:not(.sk) .hc-sel")]);
});

test("R36: many entries are found by typing", async () => {
  const page = await chat();
  page.pool.skills.value = { skills: Array.from({ length: 12 }, (_, i) => ({ folder: `skill-${i}`, name: `skill-${i}`, description: i === 7 ? "cleans tables" : "", category: "" })) };
  await settle();
  await page.click(".hc-pick.sk .hc-sel");
  const search = one<HTMLInputElement>(page.root, ".hc-search input");
  type(search, "TABLES");
  await settle();
  expect(all(page.root, "[role=option]").map(visible)).toEqual(["skill-7cleans tables"]);
  await page.press(search, "Enter");
  expect(visible(one(page.root, ".hc-pick.sk .hc-sel"))).toBe("skill-7");
});

test("R33: the list says what runs and what waits, by day; a chat is opened by keyboard", async () => {
  const pool = new FakePool();
  pool.sessions.value = [sessionItem("a", "Running one", { hasActiveRun: true }), sessionItem("b", "Asking one", { hasActiveRun: true, waitingForInput: true }),
    sessionItem("c", "", { at: Date.now() - 3 * 86_400_000 })];
  const page = await chat(pool);
  await page.click(".hc-chats");
  expect(all(page.root, ".hc-list h3").map(visible)).toEqual(["Today", "Last 7 days"]);
  expect(all(page.root, ".hc-ses .t").map(visible)).toEqual(["Running one", "Asking one", "New chat"]);
  expect([one(page.root, "[role=img]").title, visible(one(page.root, ".hc-pill.ask"))]).toEqual(["Running", "Waiting for you"]);
  const rows = all(page.root, ".hc-ses-open");
  expect(page.root.activeElement).toBe(rows[0]);
  await page.press(rows[0] as Element, "ArrowDown");
  expect(page.root.activeElement).toBe(rows[1]);
  rows[1]?.click();
  await settle();
  expect([page.view.sessionId.value, all(page.root, ".hc-list"), page.pool.session("b").loads, page.root.activeElement]).toEqual(["b", [], 1, page.field]);
});

test("R33: deleting asks in the row; the open chat becomes a new one", async () => {
  const pool = new FakePool();
  pool.sessions.value = [sessionItem("a", "One")];
  const page = await chat(pool, "a");
  await page.click(".hc-chats");
  await page.press(one(page.root, ".hc-ses-open"), "Delete");
  expect(pool.asked).toEqual([]);
  await page.click(".hc-confirm .hc-b:not(.quiet)");
  expect([pool.asked, page.view.sessionId.value]).toEqual([[["deleteSession", "a"]], null]);
});

test("R29: two chats side by side: events and drafts of one leave the other alone", async () => {
  const pool = new FakePool();
  for (const id of ["a", "b"]) withSession(pool, id, id).messages.value = [message(`${id}.1`, "USER", `Go ${id}`), message(`${id}.2`, "ASSISTANT", "", "RUNNING")];
  const page = await chat(pool, "a");
  await page.write("draft of a");
  const scroller = one(page.root, ".hc-scroll");
  page.view.open("b");
  await settle();
  expect(one(page.root, ".hc-scroll")).not.toBe(scroller); // it begins at its own end
  const before = html(one(page.root, ".hc-flow"));
  pool.receive("a.2", ...events("a.2", { kind: "run_started", t: 0 }, { kind: "thinking", t: 1, segment: 0, offset: 0, text: "Hm." },
    { kind: "tool_call", t: 2, callId: "x", tool: "terminal", args: {} }, { kind: "clarify_request", t: 3, clarifyId: "q", question: "Which?", choices: ["A"] }));
  await settle();
  expect([html(one(page.root, ".hc-flow")) === before, page.field.value]).toEqual([true, ""]);
  page.view.open("a");
  await settle();
  expect(page.said()[1]).toContain("Which?");
  expect(one<HTMLTextAreaElement>(page.root, ".hc-input").value).toBe("draft of a");
});

test("R24: leaving the view lets go of its runs and stops nothing", async () => {
  const pool = new FakePool();
  withSession(pool, "a", "a").messages.value = [message("a.1", "USER", "Go"), message("a.2", "ASSISTANT", "", "RUNNING")];
  const page = await chat(pool, "a");
  expect(pool.attached.get("a.2")).toBe(1);
  page.view.dispose();
  expect([pool.attached.get("a.2"), pool.asked]).toEqual([0, []]);
});

test("R24: a lost connection is a badge, and typing goes on", async () => {
  const page = await chat();
  page.pool.connection.value = "reconnecting";
  await settle();
  expect([visible(one(page.root, ".hc-top .hc-pill")), page.field.disabled, one(page.root, "[role=status]").textContent])
    .toEqual(["Reconnecting…", false, "Connection lost, reconnecting"]);
});

test("R37: a question takes the focus only from this chat's empty composer", async () => {
  const pool = new FakePool();
  withSession(pool, "a", "a").messages.value = [message("a.1", "USER", "Go"), message("a.2", "ASSISTANT", "", "RUNNING")];
  const page = await chat(pool, "a");
  const ask = (n: number) => {
    const questions = Array.from({ length: n }, (_, i): Body => ({ kind: "clarify_request", t: i, clarifyId: `q${i}`, question: `Which ${i}?`, choices: ["A"] }));
    pool.receive("a.2", ...events("a.2", { kind: "run_started", t: 0 }, ...questions));
  };
  page.field.focus();
  await page.write("typing");
  ask(1);
  await settle();
  expect(page.root.activeElement).toBe(page.field);
  await page.write("");
  ask(2);
  await settle();
  expect(page.root.activeElement?.textContent).toBe("Which 1?");
  press(page.root.activeElement as Element, "1");
  await settle();
  expect([pool.asked, page.root.activeElement]).toEqual([[["answer", "a.2", "q1", "A"]], page.field]);
});

test("the tour says what it is", async () => {
  const page = await chat();
  expect(all(page.root, ".hc-banner")).toEqual([]);
  page.pool.models.value = { models: [], defaultId: null, configured: false, tour: true };
  await settle();
  expect(visible(one(page.root, ".hc-banner"))).toMatch(/^Tour: scripted replies, no model/);
});

test("a session that cannot be loaded says why, and can be tried again", async () => {
  const pool = new FakePool();
  pool.session("a").error.value = new Error("The Jupyter server cannot be reached.");
  const page = await chat(pool, "a");
  expect(visible(one(page.root, ".hc-lost"))).toBe("The Jupyter server cannot be reached.Try again");
  await page.click(".hc-lost button");
  expect(pool.session("a").loads).toBe(2);
});

test("R23: a reply whose log does not say how it ended is told from its record", async () => {
  const pool = new FakePool();
  const session = withSession(pool, "a", "a");
  const running = message("a.2", "ASSISTANT", "", "RUNNING");
  session.messages.value = [message("a.1", "USER", "Go"), running];
  const page = await chat(pool, "a");
  pool.receive("a.2", ...events("a.2", { kind: "run_started", t: 0 }, { kind: "answer", t: 1, segment: 0, offset: 0, text: "Half" }));
  await settle();
  const error = { code: "bridge_lost", message: "Hermes' process ended.", details: {} };
  session.messages.value = [message("a.1", "USER", "Go"), { ...running, message: { ...running.message, status: "FAILED", error } }];
  await settle();
  expect(page.said()[1]).toContain("HalfHermes' process ended.");
});
