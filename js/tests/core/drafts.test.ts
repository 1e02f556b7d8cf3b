import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Drafts } from "../../src/core/drafts";

/** What a browser gives a tab. */
class TabStorage implements Storage {
  readonly #items = new Map<string, string>();
  get length() { return this.#items.size; }
  key(n: number) { return [...this.#items.keys()][n] ?? null; }
  getItem(key: string) { return this.#items.get(key) ?? null; }
  setItem(key: string, text: string) { this.#items.set(key, text); }
  removeItem(key: string) { this.#items.delete(key); }
  clear() { this.#items.clear(); }
}

beforeEach(() => { vi.stubGlobal("sessionStorage", new TabStorage()); });
afterEach(() => { vi.unstubAllGlobals(); });

test("R37: a draft survives the page, by its key", () => {
  new Drafts().set("clarify:q1", "red, I think");
  expect(new Drafts().get("clarify:q1")).toBe("red, I think");
  expect(new Drafts().get("clarify:q2")).toBe("");
});

test("a draft that was emptied is gone", () => {
  const drafts = new Drafts();
  drafts.set("s", "hello");
  drafts.set("s", "");
  expect(drafts.get("s")).toBe("");
  expect(sessionStorage).toHaveLength(0);
});

test("without a storage, or with a full one, a draft lives as long as the page", () => {
  const full = {
    getItem: () => null, removeItem: () => undefined,
    setItem: () => { throw new DOMException("The quota has been exceeded.", "QuotaExceededError"); },
  } as unknown as Storage;
  for (const storage of [null, full]) {
    const drafts = new Drafts(storage);
    drafts.set("s", "hello");
    expect(drafts.get("s")).toBe("hello");
  }
});

test("a page that may not have a storage works without one", () => {
  vi.unstubAllGlobals();
  Object.defineProperty(globalThis, "sessionStorage", { configurable: true, get() { throw new DOMException("Denied.", "SecurityError"); } });
  const drafts = new Drafts();
  drafts.set("s", "hello");
  expect(drafts.get("s")).toBe("hello");
  Reflect.deleteProperty(globalThis, "sessionStorage");
});
