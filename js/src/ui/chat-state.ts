/**
 * What one mounted chat shows and does, without a DOM: which session, what is on its way, what went wrong.
 *
 * A new chat has no session until its first message. Everything that outlives the view (runs, drafts) is the pool's.
 */
import { batch, computed, effect, type ReadonlySignal, signal, untracked } from "@preact/signals";

import type { Pool } from "../core/contract";
import type { MessageView } from "../protocol/types";
import { sentence } from "./attempt";
import type { Pending } from "./flow";

/** Key of the draft of a chat that is no session yet. */
const NEW = "new";

export class ChatState {
  readonly sessionId = signal<string | null>(null);
  /** Counts what was opened here: a new chat that becomes a session stays the same conversation. */
  readonly opened = signal(0);
  readonly listOpen = signal(false);
  /** A sentence about what failed, until it is dismissed or something works. */
  readonly problem = signal<string | null>(null);
  /** What was chosen here; undefined is the session's own. null is Hermes' default. */
  private readonly model = signal<string | null | undefined>(undefined);
  private readonly skill = signal<string | null | undefined>(undefined);
  private readonly sent = signal<(Pending & { readonly sessionId: string | null }) | null>(null);
  /** The last reply was asked to stop and still finishes (R25). */
  readonly finishing = signal(false);
  /** What stands in the composer. */
  readonly draft = signal("");

  constructor(readonly pool: Pool, sessionId: string | null) {
    this.open(sessionId);
    if (pool.models.peek() === null) this.attempt(pool.refreshModels());
    if (pool.sessions.peek() === null) this.attempt(pool.refreshSessions());
  }

  readonly session = computed(() => (this.sessionId.value === null ? null : this.pool.session(this.sessionId.value)));
  readonly title = computed(() => this.session.value?.view.value?.session.title ?? "");
  readonly activeRunId: ReadonlySignal<string | null> = computed(() => this.session.value?.activeRunId.value ?? null);
  readonly pending = computed(() => (this.sent.value?.sessionId === this.sessionId.value ? this.sent.value : null));
  /** One run at a time (R16): nothing can be sent meanwhile. */
  readonly busy = computed(() => this.activeRunId.value !== null || (this.pending.value !== null && this.pending.value.runId === null));
  readonly offline = computed(() => this.pool.connection.value === "reconnecting");
  readonly modelId = computed(() => this.chosen(this.model.value, this.session.value?.view.value?.session.modelId));
  readonly skillFolder = computed(() => this.chosen(this.skill.value, this.session.value?.view.value?.session.skillFolder));

  open(sessionId: string | null): void {
    batch(() => {
      this.sessionId.value = sessionId;
      this.opened.value++;
      this.listOpen.value = false;
      this.problem.value = null;
      this.finishing.value = false;
      this.model.value = undefined;
      this.skill.value = undefined;
      this.draft.value = this.pool.draft(sessionId ?? NEW);
    });
    const session = this.session.peek();
    if (session) void session.load();
  }

  /** The messages to show, now and whenever they change, until the returned function is called. */
  watch(show: (messages: readonly MessageView[], pending: Pending | null) => void): () => void {
    return effect(() => {
      const messages = this.session.value?.messages.value ?? [];
      const pending = this.pending.value;
      untracked(() => { show(messages, pending); });
    });
  }

  write(text: string): void {
    this.draft.value = text;
    this.pool.setDraft(this.sessionId.peek() ?? NEW, text);
  }

  chooseModel(id: string | null): void {
    this.model.value = id;
  }

  chooseSkill(folder: string | null): void {
    this.skill.value = folder;
  }

  /** A message that is refused is a draft again, and `problem` says why. */
  async send(text: string): Promise<void> {
    if (this.busy.peek()) return;
    const from = this.sessionId.peek();
    const options = this.choices();
    batch(() => {
      this.problem.value = null;
      this.sent.value = { sessionId: from, text, userMessageId: null, runId: null };
    });
    if (text === this.draft.peek()) this.write("");
    try {
      const sessionId = from ?? (await this.pool.createSession(options));
      const { runId, userMessageId } = await this.pool.start(sessionId, { message: text, ...options });
      batch(() => {
        this.sent.value = { sessionId, text, userMessageId, runId };
        if (from === null && this.sessionId.peek() === null) this.becomes(sessionId);
      });
    } catch (error) {
      batch(() => {
        this.sent.value = null;
        this.problem.value = sentence(error);
      });
      if (this.sessionId.peek() === from && this.draft.peek() === "") this.write(text);
      else if (this.pool.draft(from ?? NEW) === "") this.pool.setDraft(from ?? NEW, text);
    }
  }

  async stop(force = false): Promise<void> {
    const runId = this.activeRunId.peek();
    if (runId === null) return;
    try {
      const { cleaned } = await this.pool.stop(runId, force);
      this.finishing.value = !cleaned && this.activeRunId.peek() === runId;
    } catch (error) {
      this.problem.value = sentence(error);
    }
  }

  async remove(sessionId: string): Promise<void> {
    try {
      await this.pool.deleteSession(sessionId);
      if (this.sessionId.peek() === sessionId) {
        this.open(null);
        this.listOpen.value = true;
      }
    } catch (error) {
      this.problem.value = sentence(error);
    }
  }

  attempt(work: Promise<void>): void {
    work.catch((error: unknown) => { this.problem.value = sentence(error); });
  }

  /** The new chat has become a session; what was typed meanwhile is that session's draft. */
  private becomes(sessionId: string): void {
    this.sessionId.value = sessionId;
    this.pool.setDraft(NEW, "");
    this.pool.setDraft(sessionId, this.draft.peek());
  }

  /** Only what was chosen here: the rest is the session's own, whether it is loaded or not. */
  private choices(): { modelId?: string | null; skillFolder?: string | null } {
    const modelId = this.model.peek();
    const skillFolder = this.skill.peek();
    return { ...(modelId !== undefined && { modelId }), ...(skillFolder !== undefined && { skillFolder }) };
  }

  private chosen(here: string | null | undefined, session: string | null | undefined): string | null {
    return here === undefined ? (session ?? null) : here;
  }
}
