/**
 * Events of a run → what is shown of it: the one function behind the live view, history and stored turns (R32).
 *
 * The twin of `jupyter_hermes_chat/reduce.py`; both run the cases in `tests/cases/reduce/`. What it keeps true:
 *
 * - applying an event twice, or merged with its neighbours, changes nothing: numbers and text offsets say what is known;
 * - nothing is guessed over a hole: a number or an offset behind what is known is a gap, and the caller loads the run again;
 * - nothing follows a terminal event, and behind it nothing waits and nothing runs;
 * - a state belongs to one run and knows of no other (R29).
 *
 * States are plain JSON values and are never changed in place. Times are milliseconds since the start of the run; offsets count
 * Unicode code points, as Python does, while strings here count UTF-16 units.
 */
import type {
  ActionRequest, Answer, ApprovalRequest, Blob, ClarifyRequest, ClarifyResolved, Notice, RunComplete, RunError, RunEvent, RunStopped,
  Subagent, Thinking, Todo, Usage,
} from "./types";

export type Level = NonNullable<Notice["level"]>;
export type Choice = NonNullable<ApprovalRequest["choices"]>[number];
export type Phase = "starting" | "running" | "waiting" | "complete" | "stopped" | "error";

export interface ThinkingPart { readonly type: "thinking"; readonly segment: number; readonly text: string; readonly start: number; readonly end: number }
export interface AnswerPart { readonly type: "answer"; readonly segment: number; readonly text: string; readonly start: number; readonly end: number }
export interface ToolPart {
  readonly type: "tool"; readonly callId: string; readonly tool: string; readonly args: Readonly<Record<string, unknown>>;
  readonly summary: string; readonly risk: string | null; readonly start: number; readonly status: "running" | "done" | "error";
  readonly result: string | null; readonly durationMs: number | null; readonly truncated: boolean; readonly blob: Blob | null;
}
export interface ClarifyPart {
  readonly type: "clarify"; readonly clarifyId: string; readonly question: string; readonly choices: readonly string[];
  readonly allowOther: boolean; readonly expiresAt: number | null; readonly status: "pending" | ClarifyResolved["status"];
  readonly answer: string | null; readonly by: string | null;
}
export interface ApprovalPart {
  readonly type: "approval"; readonly approvalId: string; readonly command: string; readonly description: string;
  readonly choices: readonly Choice[]; readonly status: "pending" | "resolved"; readonly choice: Choice | null; readonly by: string | null;
}
export interface ActionPart {
  readonly type: "action"; readonly executionId: string; readonly action: string; readonly args: Readonly<Record<string, unknown>>;
  readonly target: ActionRequest["target"]; readonly needsConsent: boolean; readonly status: "running" | "done" | "error";
  readonly result: string | null;
}
export interface SubagentPart { readonly type: "subagent"; readonly subagentId: string; readonly goal: string; readonly state: Subagent["state"]; readonly text: string }
export interface CompactedPart { readonly type: "compacted"; readonly summary: string; readonly compactedUntilMessageId: string | null; readonly count: number }
export interface NoticePart { readonly type: "notice"; readonly level: Level; readonly text: string; readonly code: string | null }
/** An event of a newer version, or an answer to nothing that is known: shown as a plain row, never an error. */
export interface UnknownPart { readonly type: "unknown"; readonly kind: string; readonly fields: Readonly<Record<string, unknown>> }

export type Part =
  | ThinkingPart | AnswerPart | ToolPart | ClarifyPart | ApprovalPart | ActionPart | SubagentPart | CompactedPart | NoticePart | UnknownPart;

/** `seq` is the last number applied. `text` is the final answer; until the end, the text of the last answer part. */
export interface TurnState {
  readonly runId: string;
  readonly seq: number;
  readonly phase: Phase;
  readonly model: string | null;
  readonly provider: string | null;
  readonly skill: string | null;
  readonly status: { readonly text: string; readonly level: Level } | null;
  /** In order of first appearance; a part keeps its place when it changes. */
  readonly parts: readonly Part[];
  readonly todos: readonly Todo[];
  readonly suggestions: readonly string[];
  readonly usage: Usage | null;
  readonly text: string;
  readonly error: { readonly code: string; readonly message: string; readonly guardrailsFailureReason: string | null } | null;
  readonly cleaned: boolean | null;
  readonly durationMs: number | null;
  readonly thinkingMs: number;
  readonly toolCount: number;
}

/** With `gap`, `state` is the one before: load the run's log and begin again. */
export interface Applied { readonly state: TurnState; readonly gap: boolean }

export function initial(runId: string): TurnState {
  return {
    runId, seq: 0, phase: "starting", model: null, provider: null, skill: null, status: null, parts: [], todos: [], suggestions: [],
    usage: null, text: "", error: null, cleaned: null, durationMs: null, thinkingMs: 0, toolCount: 0,
  };
}

/** Whether the run is over; a terminal phase is never left. */
export function ended(state: TurnState): boolean {
  return state.phase === "complete" || state.phase === "stopped" || state.phase === "error";
}

/** What waits for a person, oldest first. */
export function pending(state: TurnState): (ClarifyPart | ApprovalPart)[] {
  return state.parts.filter((p) => p.type === "clarify" || p.type === "approval").filter((p) => p.status === "pending");
}

/** The state after `events`, up to the first gap. */
export function reduce(runId: string, events: Iterable<RunEvent>): Applied {
  let state = initial(runId);
  for (const event of events) {
    const next = apply(state, event);
    if (next.gap) return next;
    state = next.state;
  }
  return { state, gap: false };
}

/** The state after one more event; the same object where the event is known already. */
export function apply(state: TurnState, event: RunEvent): Applied {
  const last = event.seqEnd ?? event.seq;
  if (last <= state.seq || ended(state)) return { state, gap: false };
  const after = event.seq > state.seq + 1 ? null : step(state, event);
  if (after === null) return { state, gap: true };
  const phase = ended(after) ? after.phase : waits(after) ? "waiting" : "running";
  return { state: { ...after, seq: last, phase }, gap: false };
}

/** `null` is a gap. */
function step(state: TurnState, event: RunEvent): TurnState | null {
  switch (event.kind) {
    case "run_started":
      return { ...state, model: event.model ?? null, provider: event.provider ?? null, skill: event.skill ?? null };
    case "thinking":
    case "answer":
      return write(state, event);
    case "status":
      return { ...state, status: { text: event.text, level: event.level ?? "info" } };
    case "tool_call":
      return {
        ...add(state, {
          type: "tool", callId: event.callId, tool: event.tool, args: event.args, summary: event.summary ?? "", risk: event.risk ?? null,
          start: event.t, status: "running", result: null, durationMs: null, truncated: false, blob: null,
        }),
        toolCount: state.toolCount + 1,
      };
    case "tool_result":
      return settle(state, event, (p) => p.type === "tool" && p.callId === event.callId && {
        ...p, status: event.isError ? "error" : "done", result: event.result, durationMs: event.durationMs ?? null,
        truncated: event.truncated ?? false, blob: event.blob ?? null,
      });
    case "todo_update":
      return { ...state, todos: event.todos };
    case "clarify_request":
      return add(state, asked(event));
    case "clarify_resolved":
      return settle(state, event, (p) => p.type === "clarify" && p.clarifyId === event.clarifyId && {
        ...p, status: event.status, answer: event.answer ?? null, by: event.by ?? null,
      });
    case "approval_request":
      return add(state, {
        type: "approval", approvalId: event.approvalId, command: event.command, description: event.description ?? "",
        choices: event.choices ?? [], status: "pending", choice: null, by: null,
      });
    case "approval_resolved":
      return settle(state, event, (p) => p.type === "approval" && p.approvalId === event.approvalId && {
        ...p, status: "resolved", choice: event.choice, by: event.by ?? null,
      });
    case "action_request":
      return add(state, {
        type: "action", executionId: event.executionId, action: event.action, args: event.args, target: event.target,
        needsConsent: event.needsConsent ?? true, status: "running", result: null,
      });
    case "action_result":
      return settle(state, event, (p) => p.type === "action" && p.executionId === event.executionId && {
        ...p, status: event.isError ? "error" : "done", result: event.result,
      });
    case "subagent":
      return change(state, (p) => p.type === "subagent" && p.subagentId === event.subagentId && {
        ...p, state: event.state, goal: event.goal || p.goal, text: event.text || p.text,
      }) ?? add(state, { type: "subagent", subagentId: event.subagentId, goal: event.goal ?? "", state: event.state, text: event.text ?? "" });
    case "context_compacted":
      return add(state, {
        type: "compacted", summary: event.summary, compactedUntilMessageId: event.compactedUntilMessageId ?? null, count: event.count ?? 0,
      });
    case "suggestions":
      return { ...state, suggestions: event.items };
    case "usage":
      return { ...state, usage: event.usage };
    case "notice":
      return add(state, { type: "notice", level: event.level ?? "info", text: event.text, code: event.code ?? null });
    case "run_complete":
      return { ...close(state, event), phase: "complete", usage: event.usage ?? state.usage };
    case "run_stopped":
      return { ...close(state, event), phase: "stopped", usage: event.usage ?? state.usage, cleaned: event.cleaned ?? true };
    case "run_error":
      return {
        ...close(state, event), phase: "error",
        error: { code: event.code, message: event.message, guardrailsFailureReason: event.guardrailsFailureReason ?? null },
      };
    default:
      return add(state, row(event));
  }
}

function write(state: TurnState, event: Thinking | Answer): TurnState | null {
  const at = state.parts.findLastIndex((p) => p.type === event.kind && p.segment === event.segment);
  const old = state.parts[at];
  const before = old?.type === "thinking" || old?.type === "answer" ? old : null;
  const known = before === null ? 0 : length(before);
  if (event.offset > known) return null;
  const rest = event.text.slice(unitsOf(event.text, known - event.offset));
  const end = event.tEnd ?? event.t;
  const part: ThinkingPart | AnswerPart = {
    type: event.kind, segment: event.segment, text: (before?.text ?? "") + rest, start: before?.start ?? event.t, end,
  };
  lengths.set(part, known + codePoints(rest));
  const after = before === null ? add(state, part) : { ...state, parts: state.parts.with(at, part) };
  if (part.type === "answer") return { ...after, text: lastAnswer(after) };
  return { ...after, thinkingMs: state.thinkingMs + (end - part.start) - (before === null ? 0 : before.end - before.start) };
}

function asked(event: ClarifyRequest): ClarifyPart {
  return {
    type: "clarify", clarifyId: event.clarifyId, question: event.question, choices: event.choices ?? [],
    allowOther: event.allowOther ?? true, expiresAt: event.expiresAt ?? null, status: "pending", answer: null, by: null,
  };
}

function close(state: TurnState, event: RunComplete | RunStopped | RunError): TurnState {
  return {
    ...state, parts: state.parts.map(closed), status: null, text: event.text || lastAnswer(state), durationMs: event.durationMs ?? null,
  };
}

function closed(part: Part): Part {
  if ((part.type === "tool" || part.type === "action") && part.status === "running") return { ...part, status: "error" };
  if (part.type === "clarify" && part.status === "pending") return { ...part, status: "interrupted" };
  if (part.type === "approval" && part.status === "pending") return { ...part, status: "resolved", choice: "deny" };
  return part;
}

function add(state: TurnState, part: Part): TurnState {
  return { ...state, parts: [...state.parts, part] };
}

function row(event: RunEvent): UnknownPart {
  return { type: "unknown", kind: event.kind, fields: { ...event } };
}

/** The newest part for which `next` gives another one is replaced; `null` where there is none. */
function change(state: TurnState, next: (part: Part) => Part | false): TurnState | null {
  for (let at = state.parts.length - 1; at >= 0; at--) {
    const part = next(state.parts[at] as Part);
    if (part) return { ...state, parts: state.parts.with(at, part) };
  }
  return null;
}

function settle(state: TurnState, event: RunEvent, next: (part: Part) => Part | false): TurnState {
  return change(state, next) ?? add(state, row(event));
}

function waits(state: TurnState): boolean {
  return state.parts.some((p) => (p.type === "clarify" || p.type === "approval") && p.status === "pending");
}

function lastAnswer(state: TurnState): string {
  return state.parts.findLast((p) => p.type === "answer")?.text ?? "";
}

/** Counting a long text again for every delta would be quadratic, so the length of a part in code points is remembered beside it. */
const lengths = new WeakMap<ThinkingPart | AnswerPart, number>();

function length(part: ThinkingPart | AnswerPart): number {
  return lengths.get(part) ?? codePoints(part.text);
}

function codePoints(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1) n++;
  return n;
}

/** How many UTF-16 units the first `points` code points of `text` take; the whole length where it has fewer. */
function unitsOf(text: string, points: number): number {
  let i = 0;
  for (let n = 0; n < points && i < text.length; n++) i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1;
  return i;
}
