/**
 * The pool of a page: its runs, its sessions, its one stream (R24, R29, R35; design §7).
 *
 * It lives on `globalThis[Symbol.for("jupyter-hermes-chat")].pools`, one per base URL, so that every cell, widget and panel of a page
 * shares it, however the core was loaded. Runs are keyed by id and change by their own events only. Leaving the page closes the stream;
 * runs go on.
 */
import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { TurnState } from "../protocol/reduce";
import type {
  ApproveRun, CreateSession, Health, ModelList, ResumeRun, RunEvent, RunStartedBody, SessionChanged, SessionCreated, SessionItem,
  SessionList, SkillList, StartRun, StopResult, StopRun, SyncBody,
} from "../protocol/types";
import { ApiError, baseOf, type HttpAddress, HttpTransport, Unreachable } from "./api";
import type { Connection, Pool, Transport } from "./contract";
import { Drafts } from "./drafts";
import { Feed, type FeedReader, type FeedTimes, TIMES, type Visibility } from "./feed";
import { oneAtATime } from "./once";
import { Run, type RunContext } from "./run";
import { Session } from "./session";

const KEY = Symbol.for("jupyter-hermes-chat");

/** The page's pool for a server. The first caller makes it. */
export function poolAt(address: HttpAddress): Pool {
  const page = globalThis as unknown as Record<symbol, { pools?: Map<string, Pool> } | undefined>;
  const pools = ((page[KEY] ??= {}).pools ??= new Map<string, Pool>());
  const base = baseOf(address).href;
  let pool = pools.get(base);
  if (pool === undefined) pools.set(base, (pool = new PagePool(new HttpTransport(address))));
  return pool;
}

export interface PoolOptions {
  readonly visibility?: Visibility;
  readonly times?: FeedTimes;
  readonly drafts?: Drafts;
}

export class PagePool implements Pool, FeedReader {
  readonly #sessions = signal<readonly SessionItem[] | null>(null);
  readonly #models = signal<ModelList | null>(null);
  readonly #skills = signal<SkillList | null>(null);
  readonly #health = signal<Health | null>(null);
  readonly #runs = new Map<string, Run>();
  readonly #sessionById = new Map<string, Session>();
  readonly #end = new AbortController();
  readonly #drafts: Drafts;
  readonly #feed: Feed;
  readonly #context: RunContext;
  readonly refreshSessions: () => Promise<void>;

  constructor(readonly transport: Transport, options: PoolOptions = {}) {
    this.#drafts = options.drafts ?? new Drafts();
    this.#feed = new Feed(transport, this, options.visibility, options.times ?? TIMES);
    this.#context = { transport, signal: this.#end.signal, ready: () => this.#feed.ready() };
    this.refreshSessions = oneAtATime(async () => {
      this.#feed.open();
      this.#sessions.value = (await this.#get<SessionList>("sessions?offset=0&limit=200")).items;
    });
  }

  // ---- what is known ----

  get connection(): ReadonlySignal<Connection> { return this.#feed.connection; }
  get sessions(): ReadonlySignal<readonly SessionItem[] | null> { return this.#sessions; }
  get models(): ReadonlySignal<ModelList | null> { return this.#models; }
  get skills(): ReadonlySignal<SkillList | null> { return this.#skills; }
  get health(): ReadonlySignal<Health | null> { return this.#health; }

  session(id: string): Session {
    let session = this.#sessionById.get(id);
    if (session === undefined) {
      session = new Session(id, {
        transport: this.transport, signal: this.#end.signal,
        opened: () => { this.#feed.open(); },
        state: (runId) => this.run(runId),
        seed: (runId, events) => { this.#run(runId).seed(events); },
      });
      this.#sessionById.set(id, session);
    }
    return session;
  }

  run(runId: string): ReadonlySignal<TurnState> {
    return this.#run(runId).state;
  }

  problem(runId: string): ReadonlySignal<Error | null> {
    return this.#run(runId).problem;
  }

  attach(runId: string): () => void {
    const run = this.#run(runId);
    if (!run.ended) this.#feed.open();
    return run.attach();
  }

  draft(key: string): string {
    return this.#drafts.get(key);
  }

  setDraft(key: string, text: string): void {
    this.#drafts.set(key, text);
  }

  // ---- what a person does ----

  async refreshModels(): Promise<void> {
    await Promise.all([
      this.#get<ModelList>("models").then((models) => { this.#models.value = models; }),
      this.#get<SkillList>("skills").then((skills) => { this.#skills.value = skills; }),
      this.#get<Health>("health").then((health) => { this.#health.value = health; }),
    ]);
  }

  async createSession(options: CreateSession = {}): Promise<string> {
    const { sessionId } = await this.#post<SessionCreated>("sessions", options);
    this.#refreshKnownList();
    return sessionId;
  }

  async deleteSession(id: string): Promise<void> {
    await this.transport.request("DELETE", `sessions/${encodeURIComponent(id)}`, undefined, this.#end.signal);
    this.#gone(id);
  }

  async start(sessionId: string, run: StartRun): Promise<RunStartedBody> {
    const started = await this.#post<RunStartedBody>(`sessions/${encodeURIComponent(sessionId)}/runs`, run);
    const session = this.session(sessionId);
    session.started(started.runId);
    void session.load();
    this.#refreshKnownList();
    return started;
  }

  answer(runId: string, clarifyId: string, answer: string): Promise<void> {
    return this.#resolve(runId, "resume", { clarifyId, answer } satisfies ResumeRun);
  }

  approve(runId: string, approvalId: string, choice: ApproveRun["choice"]): Promise<void> {
    return this.#resolve(runId, "approve", { approvalId, choice } satisfies ApproveRun);
  }

  async stop(runId: string, force = false): Promise<StopResult> {
    const result = await this.#post<StopResult>(`runs/${encodeURIComponent(runId)}/stop`, { force } satisfies StopRun);
    this.#catchUp(runId);
    return result;
  }

  dispose(): void {
    this.#end.abort(new DOMException("The page's pool was closed.", "AbortError"));
    this.#feed.dispose();
  }

  // ---- what the stream says ----

  after(): string {
    const known = [...this.#runs.values()].filter((run) => run.watched && run.state.peek().seq > 0);
    return known.map((run) => `${run.id}:${run.state.peek().seq}`).join(",");
  }

  sync({ revisions }: SyncBody): void {
    for (const run of this.#runs.values()) run.synced();
    for (const [id, session] of this.#sessionById) {
      const shown = session.view.peek()?.session.revision;
      if (session.known && revisions[id] !== shown) void session.load();
    }
    this.#refreshKnownList();
  }

  event(event: RunEvent): void {
    this.#runs.get(event.runId)?.receive(event);
  }

  sessionChanged({ sessionId, revision }: SessionChanged): void {
    if (revision === 0) {
      this.#gone(sessionId);
      return;
    }
    const session = this.#sessionById.get(sessionId);
    if (session?.known) void session.load();
    this.#refreshKnownList();
  }

  poll(): void {
    for (const run of this.#runs.values()) if (run.watched) void run.poll(this.#context);
  }

  // ----

  #run(id: string): Run {
    let run = this.#runs.get(id);
    if (run === undefined) this.#runs.set(id, (run = new Run(id, this.#context)));
    return run;
  }

  async #resolve(runId: string, route: string, body: unknown): Promise<void> {
    try {
      await this.#post(`runs/${encodeURIComponent(runId)}/${route}`, body);
    } finally {
      // Also after a refusal: somebody else has answered, and that is to be seen.
      this.#catchUp(runId);
    }
  }

  /** Where the stream does not tell what came of it, the log does. */
  #catchUp(runId: string): void {
    const run = this.#run(runId);
    if (run.watched && this.connection.peek() !== "open") void run.load();
  }

  #gone(sessionId: string): void {
    this.#sessions.value = this.#sessions.peek()?.filter((item) => item.session.id !== sessionId) ?? null;
    this.#sessionById.get(sessionId)?.gone();
  }

  /** In the background: a list that cannot be read now is read after the next `sync`, and `connection` says why it is old. */
  #refreshKnownList(): void {
    if (this.#sessions.peek() === null) return;
    this.refreshSessions().catch((error: unknown) => {
      if (!this.#end.signal.aborted && !(error instanceof ApiError || error instanceof Unreachable)) throw error;
    });
  }

  #get<T>(path: string): Promise<T> {
    return this.transport.request<T>("GET", path, undefined, this.#end.signal);
  }

  #post<T>(path: string, body: unknown): Promise<T> {
    return this.transport.request<T>("POST", path, body, this.#end.signal);
  }
}
