/**
 * One run of the page: its reduced state, kept true between the stored log and the live stream (design §3).
 *
 * A run is *live* when every event from its state on will come through the stream. It becomes so by a load: the stored log is
 * applied, then what the stream brought meanwhile. It stops being so when the stream begins again or an event does not fit (a gap); then it is loaded again, one load at a time. An ended run needs neither.
 *
 * Knows nothing of views but their number: without one, nothing is loaded.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals-core";
import { apply, ended, initial, reduce, type TurnState } from "../protocol/reduce";
import type { LogPage, RunEvent, RunState } from "../protocol/types";
import { ApiError, Unreachable } from "./api";
import type { Transport } from "./contract";
import { Backoff, oneAtATime, pause } from "./once";

/** The stored log has a hole: loading it again would not help. */
export class LogDamaged extends Error {
  override readonly name = "LogDamaged";
  constructor() {
    super("A part of this reply's stored log is missing; what lies before it is shown.");
  }
}

export interface RunContext {
  readonly transport: Transport;
  /** Aborted when the pool ends. */
  readonly signal: AbortSignal;
  /** Resolves when the stream has synchronised, or shows that it cannot: history is loaded only then. */
  ready(): Promise<void>;
}

export class Run {
  readonly #state: Signal<TurnState>;
  readonly #problem = signal<Error | null>(null);
  #views = 0;
  #live = false;
  /** Events that came during a load; they follow the stored log. */
  #held: RunEvent[] | null = null;
  /** A load waits for the stream and has asked for nothing yet. */
  #waiting = false;
  readonly load: () => Promise<void>;

  constructor(readonly id: string, context: RunContext) {
    this.#state = signal(initial(id));
    this.load = oneAtATime(() => this.#load(context));
  }

  get state(): ReadonlySignal<TurnState> {
    return this.#state;
  }

  /** Why there is nothing, or nothing more, to show; null while all is well. */
  get problem(): ReadonlySignal<Error | null> {
    return this.#problem;
  }

  get ended(): boolean {
    return ended(this.#state.peek());
  }

  /** Somebody looks, and the run may still change. */
  get watched(): boolean {
    return this.#views > 0 && !this.ended;
  }

  attach(): () => void {
    this.#views++;
    // A load that is under way serves this view too.
    if (!this.#live && !this.ended && this.#held === null) void this.load();
    let attached = true;
    return () => {
      if (attached) this.#views--;
      attached = false;
    };
  }

  /** An event of the stream. */
  receive(event: RunEvent): void {
    if (this.#held !== null) {
      this.#held.push(event);
    } else if (this.#live) {
      const next = apply(this.#state.peek(), event);
      this.#state.value = next.state;
      if (next.gap) {
        this.#live = false;
        this.#held = [event];
        void this.load();
      }
    }
  }

  /** A log that came with a session: shown at once, and enough for a run that has ended. */
  seed(events: readonly RunEvent[]): void {
    const { state } = reduce(this.id, events);
    if (state.seq > this.#state.peek().seq) this.#state.value = state;
  }

  /** The stream began (again): before that, something may have been missed. A load that still waits for this is enough. */
  synced(): void {
    this.#live = false;
    if (this.watched && !this.#waiting) void this.load();
  }

  /** Without a stream: has anything happened? */
  async poll({ transport, signal: end }: RunContext): Promise<void> {
    try {
      const { lastSeq } = await transport.request<RunState>("GET", `runs/${encodeURIComponent(this.id)}/state`, undefined, end);
      if (lastSeq > this.#state.peek().seq && this.watched) void this.load();
    } catch (error) {
      // The next poll or `sync` comes anyway.
      if (!end.aborted && !(error instanceof ApiError || error instanceof Unreachable)) throw error;
    }
  }

  async #load(context: RunContext): Promise<void> {
    const wait = new Backoff(200, 10_000);
    this.#held ??= [];
    while (this.watched && !context.signal.aborted) {
      this.#waiting = true;
      await context.ready();
      this.#waiting = false;
      if (await this.#attempt(context)) break;
      await pause(wait.next(), context.signal);
    }
    this.#held = null;
  }

  /** Whether that was all: the run is live, or no attempt can make it so. */
  async #attempt({ transport, signal: end }: RunContext): Promise<boolean> {
    try {
      const page = await transport.request<LogPage>("GET", `messages/${encodeURIComponent(this.id)}/logs`, undefined, end);
      const joined = this.#join(page.events as unknown as RunEvent[]);
      this.#problem.value = null;
      return joined;
    } catch (error) {
      if (end.aborted) return true;
      if (!(error instanceof ApiError || error instanceof Unreachable || error instanceof LogDamaged)) throw error;
      this.#problem.value = error;
      return error instanceof LogDamaged || (error instanceof ApiError && error.status < 500);
    }
  }

  /** The stored log, then what was held; false where the log does not reach the held events yet. */
  #join(log: readonly RunEvent[]): boolean {
    const stored = reduce(this.id, log);
    let state = stored.state.seq > this.#state.peek().seq ? stored.state : this.#state.peek();
    const held = this.#held ?? [];
    const at = held.findIndex((event) => {
      const next = apply(state, event);
      state = next.state;
      return next.gap;
    });
    this.#held = at === -1 ? null : held.slice(at);
    this.#live = at === -1 && !stored.gap;
    this.#state.value = state;
    if (stored.gap) throw new LogDamaged();
    return at === -1;
  }
}
