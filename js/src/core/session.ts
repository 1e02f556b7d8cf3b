/**
 * One session of the page: its active branch from the top that was loaded down to its newest message.
 *
 * Loading again keeps older pages as long as they are the same branch. The logs that come along seed the runs, so that history needs
 * no request per message. `load` never rejects: what went wrong is `error`, and what was loaded before stays.
 */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals-core";
import type { MessagePage, MessageView, RunEvent, SessionView } from "../protocol/types";
import { ended, type TurnState } from "../protocol/reduce";
import { ApiError, Unreachable } from "./api";
import type { SessionModel, Transport } from "./contract";
import { oneAtATime } from "./once";

export interface SessionContext {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  /** Called before a load: what is shown is to be followed. */
  opened(): void;
  state(runId: string): ReadonlySignal<TurnState>;
  seed(runId: string, events: readonly RunEvent[]): void;
}

const PAGE = 50;

export class Session implements SessionModel {
  readonly #view = signal<SessionView | null>(null);
  readonly #messages = signal<readonly MessageView[]>([]);
  readonly #hasMore = signal(false);
  readonly #error = signal<Error | null>(null);
  /** A run that this page started, until a view says what is active. */
  readonly #started = signal<string | null>(null);
  readonly activeRunId: ReadonlySignal<string | null>;
  readonly load: () => Promise<void>;
  readonly loadOlder: () => Promise<void>;

  constructor(readonly id: string, readonly context: SessionContext) {
    this.activeRunId = computed(() => {
      const runId = this.#started.value ?? this.#view.value?.activeRunId ?? null;
      return runId === null || ended(context.state(runId).value) ? null : runId;
    });
    this.load = oneAtATime(() => this.#guarded(() => this.#load()));
    this.loadOlder = oneAtATime(() => this.#guarded(() => this.#loadOlder()));
  }

  get view(): ReadonlySignal<SessionView | null> {
    return this.#view;
  }

  get messages(): ReadonlySignal<readonly MessageView[]> {
    return this.#messages;
  }

  get hasMore(): ReadonlySignal<boolean> {
    return this.#hasMore;
  }

  get error(): ReadonlySignal<Error | null> {
    return this.#error;
  }

  /** Somebody loaded it, so changes made elsewhere are to be followed. */
  get known(): boolean {
    return this.#view.peek() !== null || this.#error.peek() !== null;
  }

  started(runId: string): void {
    this.#started.value = runId;
  }

  /** The session was deleted, here or elsewhere. */
  gone(): void {
    this.#fail(new ApiError(404, "session_not_found", "This conversation was deleted."));
  }

  async #load(): Promise<void> {
    this.context.opened();
    const started = this.#started.peek();
    const view = await this.context.transport.request<SessionView>("GET", this.#path(), undefined, this.context.signal);
    this.#seed(view.messages);
    batch(() => {
      const above = this.#above(view);
      if (above.length === 0) this.#hasMore.value = view.hasMore;
      this.#messages.value = [...above, ...view.messages];
      this.#view.value = view;
      // What was started meanwhile is newer than this view.
      if (this.#started.peek() === started) this.#started.value = null;
    });
  }

  async #loadOlder(): Promise<void> {
    const first = this.#messages.peek()[0]?.message.id;
    if (first === undefined || !this.#hasMore.peek()) return;
    const path = `${this.#path()}/messages?before=${encodeURIComponent(first)}&limit=${PAGE}`;
    const page = await this.context.transport.request<MessagePage>("GET", path, undefined, this.context.signal);
    this.#seed(page.messages);
    batch(() => {
      // The branch may have been switched during the request.
      if (this.#messages.peek()[0]?.message.id !== first) return;
      this.#messages.value = [...page.messages, ...this.#messages.peek()];
      this.#hasMore.value = page.hasMore;
    });
  }

  /** The shown messages that stand above the view's first one on the same branch. */
  #above(view: SessionView): readonly MessageView[] {
    const parent = view.messages[0]?.message.parentId;
    const known = this.#messages.peek();
    return known.slice(0, known.findIndex((m) => m.message.id === parent) + 1);
  }

  #seed(messages: readonly MessageView[]): void {
    for (const { message, logs } of messages) {
      if (logs !== null) this.context.seed(message.runId ?? message.id, logs as unknown as RunEvent[]);
    }
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#error.value = null;
    } catch (error) {
      if (this.context.signal.aborted) return;
      if (!(error instanceof ApiError || error instanceof Unreachable)) throw error;
      this.#fail(error);
    }
  }

  #fail(error: ApiError | Unreachable): void {
    this.#error.value = error;
  }

  #path(): string {
    return `sessions/${encodeURIComponent(this.id)}`;
  }
}
