import { expect, test } from "vitest";
import { Backoff, oneAtATime, pause } from "../../src/core/once";

test("R24: waits double up to the longest, each between half and the whole of it, and begin anew after a reset", () => {
  const waits = (random: number) => {
    const backoff = new Backoff(250, 2000, () => random);
    return Array.from({ length: 6 }, () => backoff.next());
  };
  expect(waits(1)).toEqual([250, 500, 1000, 2000, 2000, 2000]);
  expect(waits(0)).toEqual([125, 250, 500, 1000, 1000, 1000]);
  const backoff = new Backoff(250, 2000, () => 1);
  backoff.next();
  backoff.next();
  backoff.reset();
  expect(backoff.next()).toBe(250);
});

test("work that fails is done again at the next call, also where that came during it", async () => {
  let times = 0;
  const work = oneAtATime(() => (++times === 1 ? Promise.reject(new Error("first")) : Promise.resolve()));
  const [one, two] = [work(), work()];
  await expect(one).rejects.toThrow("first");
  await two;
  await work();
  expect(times).toBe(3);
});

test("a pause ends early when it is aborted", async () => {
  const abort = new AbortController();
  const paused = pause(60_000, abort.signal);
  abort.abort();
  await paused;
  await pause(60_000, abort.signal);
});
