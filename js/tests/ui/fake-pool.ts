/** A pool without a server, for tests of what is shown: signals that a test sets, and a list of what was asked of it. */
import { type Signal, signal } from "@preact/signals";

import type { Connection, Pool, SessionModel } from "../../src/core/contract";
import { apply, initial, type TurnState } from "../../src/protocol/reduce";
import type { Health, Message, MessageView, ModelList, RunEvent, SessionItem, SessionView, SkillList } from "../../src/protocol/types";

export class FakeSession implements SessionModel {
  readonly view: Signal<SessionView | null> = signal(null);
  readonly messages: Signal<readonly MessageView[]> = signal([]);
  readonly hasMore = signal(false);
  readonly activeRunId: Signal<string | null> = signal(null);
  readonly error: Signal<Error | null> = signal(null);
  loads = 0;

  constructor(readonly id: string) {}

  load(): Promise<void> {
    this.loads++;
    return Promise.resolve();
  }

  loadOlder(): Promise<void> {
    return Promise.resolve();
  }
}

export class FakePool implements Pool {
  readonly asked: unknown[][] = [];
  readonly connection: Signal<Connection> = signal("open");
  readonly sessions: Signal<readonly SessionItem[] | null> = signal([]);
  readonly models: Signal<ModelList | null> = signal({ models: [], defaultId: null, configured: true, tour: false });
  readonly skills: Signal<SkillList | null> = signal({ skills: [] });
  readonly health: Signal<Health | null> = signal(null);
  readonly attached = new Map<string, number>();
  /** What the next question to the server is answered with instead. */
  refusal: Error | null = null;
  private readonly runs = new Map<string, Signal<TurnState>>();
  private readonly problems = new Map<string, Signal<Error | null>>();
  private readonly drafts = new Map<string, string>();
  private readonly known = new Map<string, FakeSession>();
  private n = 0;

  readonly transport: Pool["transport"] = {
    request: () => Promise.reject(new Error("no server")),
    stream: () => { throw new Error("no server"); },
    url: (path) => `http://server/${path}`,
  };

  session(id: string): FakeSession {
    let session = this.known.get(id);
    if (!session) this.known.set(id, (session = new FakeSession(id)));
    return session;
  }

  run(runId: string): Signal<TurnState> {
    let run = this.runs.get(runId);
    if (!run) this.runs.set(runId, (run = signal(initial(runId))));
    return run;
  }

  problem(runId: string): Signal<Error | null> {
    let problem = this.problems.get(runId);
    if (!problem) this.problems.set(runId, (problem = signal(null)));
    return problem;
  }

  /** Events arrive. */
  receive(runId: string, ...events: RunEvent[]): void {
    for (const event of events) {
      const run = this.run(runId);
      run.value = apply(run.peek(), event).state;
    }
  }

  attach(runId: string): () => void {
    this.attached.set(runId, (this.attached.get(runId) ?? 0) + 1);
    return () => { this.attached.set(runId, (this.attached.get(runId) ?? 0) - 1); };
  }

  refreshSessions(): Promise<void> {
    return this.answered("refreshSessions", undefined);
  }

  refreshModels(): Promise<void> {
    return this.answered("refreshModels", undefined);
  }

  createSession(options = {}): Promise<string> {
    return this.answered("createSession", `session-${++this.n}`, options);
  }

  deleteSession(id: string): Promise<void> {
    return this.answered("deleteSession", undefined, id);
  }

  async start(sessionId: string, run: Parameters<Pool["start"]>[1]): Promise<{ runId: string; messageId: string; userMessageId: string }> {
    const runId = `${sessionId}.${++this.n * 2}`;
    const started = await this.answered("start", { runId, messageId: runId, userMessageId: `${sessionId}.${this.n * 2 - 1}` }, sessionId, run);
    this.session(sessionId).activeRunId.value = runId;
    return started;
  }

  answer(runId: string, clarifyId: string, answer: string): Promise<void> {
    return this.answered("answer", undefined, runId, clarifyId, answer);
  }

  approve(runId: string, approvalId: string, choice: string): Promise<void> {
    return this.answered("approve", undefined, runId, approvalId, choice);
  }

  stop(runId: string, force = false): Promise<{ success: boolean; cleaned: boolean }> {
    return this.answered("stop", { success: true, cleaned: true }, runId, force);
  }

  draft(key: string): string {
    return this.drafts.get(key) ?? "";
  }

  setDraft(key: string, text: string): void {
    this.drafts.set(key, text);
  }

  dispose(): void {
    this.runs.clear();
  }

  private answered<T>(name: string, value: T, ...args: unknown[]): Promise<T> {
    this.asked.push([name, ...args]);
    const { refusal } = this;
    this.refusal = null;
    return refusal ? Promise.reject(refusal) : Promise.resolve(value);
  }
}

export function message(id: string, role: Message["role"], content: string, status: Message["status"] = role === "USER" ? "SENT" : "SUCCESS"): MessageView {
  const [sessionId = ""] = id.split(".");
  return {
    message: {
      id, sessionId, role, status, content, runId: role === "ASSISTANT" ? id : null, parentId: null, isActive: true, branchOrder: 1, deletedAt: null,
      modelId: null, skillFolder: null, error: null, usage: null, author: null, attachmentIds: [], createdAt: 0, completedAt: null,
    },
    logs: null, version: 1, versions: 1,
  };
}

export function sessionItem(id: string, title: string, more: Partial<Omit<SessionItem, "session">> & { at?: number } = {}): SessionItem {
  const { at = Date.now(), ...rest } = more;
  return {
    session: {
      id, title, createdAt: at, updatedAt: at, lastMessageAt: at, owner: "", hermesSession: "", titleByPerson: false, modelId: null, skillFolder: null,
      status: "ACTIVE", workingDir: null, lastSummarizedAt: null, revision: 1,
    },
    lastMessagePreview: "", hasActiveRun: false, waitingForInput: false, activeRunId: null, ...rest,
  };
}

export type Body = RunEvent extends infer E ? E extends RunEvent ? Omit<E, "seq" | "runId"> : never : never;

/** Numbers events from 1 on, for one run. */
export function events(runId: string, ...bodies: Body[]): RunEvent[] {
  return bodies.map((body, i) => ({ seq: i + 1, runId, ...body }));
}

export function reduced(runId: string, list: readonly RunEvent[]): TurnState {
  const state = list.reduce((before, event) => apply(before, event).state, initial(runId));
  if (list.length > 0 && state.seq === 0) throw new Error("these events do not fit together");
  return state;
}

