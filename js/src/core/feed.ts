/**
 * The page's one stream: opened at first need, opened again when it breaks, closed while the page is hidden (design §7, R24).
 *
 * After a break the wait grows and is jittered, so that the tabs of a restarted server do not come all at once; `sync` resets it.
 * While there is no stream, `poll` is called every 30 s: reading never depends on the stream. A page that is hidden for 30 s gives its
 * connection back, since a browser has six for all tabs of a host; the `sync` on return repairs what was missed.
 */
import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { RunEvent, SessionChanged, SyncBody } from "../protocol/types";
import { ApiError, Unreachable } from "./api";
import type { Connection, ServerSentEvent, Transport } from "./contract";
import { Backoff, pause } from "./once";

export interface FeedReader {
  /** Where to go on: `<run>:<seq>,…`, empty for everything new. */
  after(): string;
  sync(body: SyncBody): void;
  event(event: RunEvent): void;
  sessionChanged(change: SessionChanged): void;
  poll(): void;
}

/** Whether anybody can see the page. */
export interface Visibility {
  readonly hidden: boolean;
  /** Calls back at every change until the returned function is called. */
  subscribe(changed: () => void): () => void;
}

/** Milliseconds. */
export interface FeedTimes {
  readonly firstWait: number;
  readonly longestWait: number;
  /** After so long without a `sync`, history is loaded anyway. */
  readonly patience: number;
  readonly hidden: number;
  readonly poll: number;
}

export const TIMES: FeedTimes = { firstWait: 250, longestWait: 10_000, patience: 3000, hidden: 30_000, poll: 30_000 };

export class Feed {
  readonly #connection = signal<Connection>("paused");
  readonly #backoff: Backoff;
  readonly #forget: () => void;
  #wanted = false;
  #disposed = false;
  #stream: AbortController | null = null;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #polling: ReturnType<typeof setInterval> | undefined;
  #waiting: (() => void)[] = [];

  constructor(
    readonly transport: Transport,
    readonly reader: FeedReader,
    readonly visibility: Visibility = pageVisibility(),
    readonly times: FeedTimes = TIMES,
  ) {
    this.#backoff = new Backoff(times.firstWait, times.longestWait);
    this.#forget = visibility.subscribe(() => {
      this.#giveBackWhenHidden();
      if (!visibility.hidden && this.#wanted) this.open();
    });
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** From now on the stream is wanted. */
  open(): void {
    if (this.#disposed) return;
    this.#wanted = true;
    if (this.#stream !== null) return;
    this.#stream = new AbortController();
    this.#giveBackWhenHidden();
    this.#set("connecting");
    void this.#listen(this.#stream.signal);
  }

  /** Resolves when the stream has synchronised, has failed to, or is taking too long. */
  ready(): Promise<void> {
    if (this.#connection.peek() !== "connecting") return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.times.patience);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  dispose(): void {
    this.#disposed = true;
    this.#wanted = false;
    this.#forget();
    clearTimeout(this.#hiding);
    this.#close();
    clearInterval(this.#polling);
  }

  #giveBackWhenHidden(): void {
    clearTimeout(this.#hiding);
    if (this.visibility.hidden) this.#hiding = setTimeout(() => { this.#close(); }, this.times.hidden);
  }

  #close(): void {
    this.#stream?.abort(new DOMException("The stream was closed.", "AbortError"));
    this.#stream = null;
    this.#set("paused");
  }

  #set(connection: Connection): void {
    this.#connection.value = connection;
    if (connection === "connecting") return;
    clearInterval(this.#polling);
    if (connection !== "open" && this.#wanted) this.#polling = setInterval(() => { this.reader.poll(); }, this.times.poll);
    for (const go of this.#waiting.splice(0)) go();
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const over = () => signal.aborted;
    while (!over()) {
      try {
        const after = this.reader.after();
        for await (const frame of this.transport.stream(after === "" ? "stream" : `stream?after=${after}`, signal)) this.#read(frame);
      } catch (error) {
        // A defect in a subscriber is shown as one; the stream begins again all the same.
        if (!over() && !(error instanceof ApiError || error instanceof Unreachable)) queueMicrotask(() => { throw error; });
      }
      if (over()) return;
      this.#set("reconnecting");
      await pause(this.#backoff.next(), signal);
    }
  }

  #read(frame: ServerSentEvent): void {
    switch (frame.event) {
      case "sync":
        this.#backoff.reset();
        this.reader.sync(JSON.parse(frame.data) as SyncBody);
        this.#set("open");
        break;
      case "session_changed":
        this.reader.sessionChanged(JSON.parse(frame.data) as SessionChanged);
        break;
      case "message":
        this.reader.event(JSON.parse(frame.data) as RunEvent);
        break;
      default: // a newer server's word
    }
  }
}

function pageVisibility(): Visibility {
  if (typeof document === "undefined") return { hidden: false, subscribe: () => () => undefined };
  return {
    get hidden() { return document.hidden; },
    subscribe(changed) {
      document.addEventListener("visibilitychange", changed);
      return () => { document.removeEventListener("visibilitychange", changed); };
    },
  };
}
