// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { Drafts } from "../../src/core/drafts";

beforeEach(() => { sessionStorage.clear(); });

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
