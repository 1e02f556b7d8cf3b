/**
 * What the interface sees of the core: one pool a page, sessions and runs in it, all of it as signals.
 *
 * Views come and go, runs do not (R24, R35): a view attaches and detaches, the pool keeps the state and the one stream.
 * `poolAt({ baseUrl, token })` in `./pool` gives the page's pool, which lives on
 * `globalThis[Symbol.for("jupyter-hermes-chat")].pools`; the loader may keep its own properties beside it. Nothing here touches the DOM. Types of records and events are generated (`../protocol/types`); `TurnState` is the result
 * of `reduce` and the only thing that a turn is drawn from, live and in history (R32).
 */
import type { ReadonlySignal } from "@preact/signals-core";
import type {
  Health, MessageView, ModelList, RunStartedBody, SessionItem, SessionView, SkillList, StartRun, StopResult,
} from "../protocol/types";
import type { TurnState } from "../protocol/reduce";

export interface ServerSentEvent { readonly event: string; readonly data: string; readonly id: string | null }

/** Two implementations are planned: HTTP (now) and the kernel's comm (later). Paths are relative to `hermes/api/chat/`. */
export interface Transport {
  /** Throws `ApiError` with the server's code and sentence; `Unreachable` where no answer came. */
  request<T>(method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE", path: string, body?: unknown, signal?: AbortSignal): Promise<T>;
  /** Yields frames until the server ends the stream; throws like `request`. */
  stream(path: string, signal: AbortSignal): AsyncIterable<ServerSentEvent>;
  /** Absolute URL of a path below the server's base URL, for links and downloads. */
  url(path: string): string;
}

/** `paused`: no stream is wanted yet, or the page is hidden. */
export type Connection = "connecting" | "open" | "reconnecting" | "paused";

export interface SessionModel {
  readonly id: string;
  /** null until loaded. */
  readonly view: ReadonlySignal<SessionView | null>;
  readonly messages: ReadonlySignal<readonly MessageView[]>;
  readonly hasMore: ReadonlySignal<boolean>;
  readonly activeRunId: ReadonlySignal<string | null>;
  readonly error: ReadonlySignal<Error | null>;
  /** Neither of the two rejects: what went wrong is `error`. */
  load(): Promise<void>;
  loadOlder(): Promise<void>;
}

export interface Pool {
  readonly transport: Transport;
  readonly connection: ReadonlySignal<Connection>;
  readonly sessions: ReadonlySignal<readonly SessionItem[] | null>;
  readonly models: ReadonlySignal<ModelList | null>;
  readonly skills: ReadonlySignal<SkillList | null>;
  readonly health: ReadonlySignal<Health | null>;
  refreshSessions(): Promise<void>;
  refreshModels(): Promise<void>;
  createSession(options?: { modelId?: string | null; skillFolder?: string | null }): Promise<string>;
  deleteSession(id: string): Promise<void>;
  /** The same object for the same id, for as long as the page lives. */
  session(id: string): SessionModel;
  /** The reduced state of a run; `attach` makes it live (history after `sync`, then the stream) until the returned function is called. */
  run(runId: string): ReadonlySignal<TurnState>;
  attach(runId: string): () => void;
  /** Why a run cannot be loaded (deleted, unreachable, damaged): an `ApiError`, `Unreachable` or `LogDamaged`; null while all is well. */
  problem(runId: string): ReadonlySignal<Error | null>;
  start(sessionId: string, run: StartRun): Promise<RunStartedBody>;
  answer(runId: string, clarifyId: string, answer: string): Promise<void>;
  approve(runId: string, approvalId: string, choice: "once" | "session" | "always" | "deny"): Promise<void>;
  stop(runId: string, force?: boolean): Promise<StopResult>;
  /** What was typed and not sent, by session id or "clarify:<id>"; survives views and reloads (sessionStorage where there is one). */
  draft(key: string): string;
  setDraft(key: string, text: string): void;
  /** Closes the stream and gives up what is under way. For tests; a page's pool lives as long as the page. */
  dispose(): void;
}
