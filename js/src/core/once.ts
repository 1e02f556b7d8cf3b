/** Work that is asked for often and done once at a time. */

/**
 * `work`, at most once at a time: a call while it runs makes it run once more behind, however many calls there were. The promise of
 * a call is that of a run that began after the call.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    next = null;
    running = work().finally(() => { running = null; });
    return running;
  };
  // Somebody may have called between the end of the run before and this.
  const resume = (): Promise<void> => running ?? start();
  return () => {
    if (running === null) return start();
    next ??= running.then(resume, resume);
    return next;
  };
}

/** Resolves after `ms` milliseconds, or at once when `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/** Waits that grow: `first`, then twice as long each time up to `most`, each between half and the whole of it. Milliseconds. */
export class Backoff {
  #wait: number;
  constructor(readonly first: number, readonly most: number, readonly random: () => number = Math.random) {
    this.#wait = first;
  }

  next(): number {
    const wait = this.#wait;
    this.#wait = Math.min(wait * 2, this.most);
    return wait * (0.5 + this.random() / 2);
  }

  reset(): void {
    this.#wait = this.first;
  }
}
