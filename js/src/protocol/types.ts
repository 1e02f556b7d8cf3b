/* Generated from protocol/schema.json by `npm run types`. Do not edit. */

/**
 * An event of a run, told apart by `kind`.
 */
export type RunEvent =
  | RunStarted
  | Thinking
  | Answer
  | Status
  | ToolCall
  | ToolResult
  | TodoUpdate
  | ClarifyRequest
  | ClarifyResolved
  | ApprovalRequest
  | ApprovalResolved
  | ActionRequest
  | ActionResult
  | Subagent
  | ContextCompacted
  | Suggestions
  | UsageUpdate
  | Notice
  | RunComplete
  | RunStopped
  | RunError;

export interface Ack {
  seq: number;
}
export interface ActionRequest {
  action: string;
  args: {
    [k: string]: unknown;
  };
  executionId: string;
  kind: "action_request";
  messageId?: string | null;
  needsConsent?: boolean;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  target: "kernel" | "page";
}
export interface ActionResult {
  executionId: string;
  isError?: boolean;
  kind: "action_result";
  messageId?: string | null;
  result: string;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
}
export interface ActiveRun {
  lastSeq: number;
  runId: string;
  sessionId: string;
  waiting: boolean;
}
export interface Answer {
  kind: "answer";
  messageId?: string | null;
  offset: number;
  runId: string;
  segment: number;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text: string;
}
/**
 * ``command`` is exact; the interface makes control and bidi characters visible (R38).
 */
export interface ApprovalRequest {
  approvalId: string;
  choices?: ("always" | "deny" | "once" | "session")[];
  command: string;
  description?: string;
  kind: "approval_request";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
}
export interface ApprovalResolved {
  approvalId: string;
  by?: string | null;
  choice: "always" | "deny" | "once" | "session";
  kind: "approval_resolved";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
}
export interface Approve {
  approvalId: string;
  by: string | null;
  choice: "always" | "deny" | "once" | "session";
}
export interface ApproveRun {
  approvalId: string;
  choice: "always" | "deny" | "once" | "session";
}
/**
 * A result too large for the log: the full bytes lie in the session's ``blobs/<sha256>`` and are served by its route.
 */
export interface Blob {
  mediaType: string;
  sha256: string;
  size: number;
}
/**
 * ``bridge.json`` (mode 0600) in the runtime folder.
 */
export interface BridgeFile {
  pid: number;
  protocol: number;
  token: string;
  url: string;
  version: string;
}
export interface BridgeHealth {
  hermes: string | null;
  interpreter: string | null;
  pid: number;
  problem: ErrorBody | null;
  protocol: number;
  runs: number;
  spares: number;
  tour: boolean | null;
  version: string;
  workers: number;
}
export interface ErrorBody {
  code: string;
  details: {
    [k: string]: unknown;
  };
  message: string;
}
export interface BridgeRun {
  ended: boolean;
  lastSeq: number;
  runId: string;
  sessionId: string;
  waiting: boolean;
}
export interface BridgeRuns {
  runs: BridgeRun[];
}
export interface Clarify {
  answer: string;
  by: string | null;
  clarifyId: string;
}
export interface ClarifyRequest {
  allowOther?: boolean;
  choices?: string[];
  clarifyId: string;
  expiresAt?: number | null;
  kind: "clarify_request";
  messageId?: string | null;
  question: string;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
}
export interface ClarifyResolved {
  answer?: string | null;
  by?: string | null;
  clarifyId: string;
  kind: "clarify_resolved";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  status: "answered" | "expired" | "interrupted";
  t: number;
  tEnd?: number | null;
}
/**
 * ``summary`` is the text that now stands for the first ``count`` model messages.
 */
export interface ContextCompacted {
  compactedUntilMessageId?: string | null;
  count?: number;
  kind: "context_compacted";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  summary: string;
  t: number;
  tEnd?: number | null;
}
/**
 * A piece of the notebook that goes along with a message (R51). ``kind`` is cell, selection, variable, error, file or tag.
 */
export interface ContextItem {
  kind: string;
  label: string;
  text: string;
}
export interface CreateSession {
  modelId?: string | null;
  skillFolder?: string | null;
  title?: string | null;
  workingDir?: string | null;
}
/**
 * ``core`` is the file name of the front end's core under ``hermes/static/``.
 */
export interface Health {
  bridge: "running" | "stopped" | "unavailable";
  capabilities: string[];
  core: string | null;
  dataFolder: string | null;
  hermes: string | null;
  problem: ErrorBody | null;
  tour: boolean | null;
  version: string;
}
export interface Interrupt {
  force: boolean;
}
/**
 * ``GET /hermes/models`` and ``/hermes/skills`` are the two halves of this; the probe fills it (design §2).
 */
export interface Inventory {
  configured: boolean;
  default: ModelConfig;
  hermes: string | null;
  models: ModelItem[];
  problem: ErrorBody | null;
  skills: SkillItem[];
  tour: boolean;
}
/**
 * Which model; empty means Hermes' default. Keys never travel: they stay in Hermes' home.
 */
export interface ModelConfig {
  model: string | null;
  provider: string | null;
}
/**
 * ``id`` is ``<provider>/<model>``, split at the first slash; it is what ``modelId`` names everywhere.
 */
export interface ModelItem {
  contextLength: number | null;
  id: string;
  model: string;
  name: string;
  provider: string;
}
/**
 * ``folder`` is the skill's name as ``skill_view`` takes it, and what ``skillFolder`` names everywhere.
 */
export interface SkillItem {
  category: string;
  description: string;
  folder: string;
  name: string;
}
export interface LogPage {
  events: {
    [k: string]: unknown;
  }[];
  lastSeq: number;
}
export interface Message {
  attachmentIds: string[];
  author: string | null;
  branchOrder: number;
  completedAt: number | null;
  content: string;
  createdAt: number;
  deletedAt: number | null;
  error: ErrorBody | null;
  id: string;
  isActive: boolean;
  modelId: string | null;
  parentId: string | null;
  role: "ASSISTANT" | "SYSTEM" | "USER";
  runId: string | null;
  sessionId: string;
  skillFolder: string | null;
  status: "FAILED" | "MARKER" | "RUNNING" | "SENT" | "STOPPED" | "SUCCESS" | "SUMMARY";
  usage: Usage | null;
}
/**
 * Tokens and cost of one turn (differences, never running totals). ``cost`` is in US dollars, absent when unknown.
 */
export interface Usage {
  cacheRead?: number;
  cacheWrite?: number;
  contextMax?: number | null;
  contextUsed?: number | null;
  cost?: number | null;
  input?: number;
  output?: number;
  reasoning?: number;
}
export interface MessagePage {
  hasMore: boolean;
  messages: MessageView[];
}
/**
 * A message as it is shown: ``logs`` are the events of its run, ``versions`` counts undeleted siblings (R12).
 */
export interface MessageView {
  logs:
    | {
        [k: string]: unknown;
      }[]
    | null;
  message: Message;
  version: number;
  versions: number;
}
/**
 * ``default_id`` is what an empty ``modelId`` means. ``tour`` is true while scripted replies stand in for a model.
 */
export interface ModelList {
  configured: boolean;
  defaultId: string | null;
  models: ModelItem[];
  tour: boolean;
}
export interface Notice {
  code?: string | null;
  kind: "notice";
  level?: "error" | "info" | "warning";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text: string;
}
/**
 * A question or an approval that waits for a person (R37, R38). ``payload`` is the request event's own fields.
 */
export interface Pause {
  answer: string | null;
  by: string | null;
  createdAt: number;
  id: string;
  kind: "approval" | "clarify";
  payload: {
    [k: string]: unknown;
  };
  resolvedAt: number | null;
  runId: string;
  status: "ANSWERED" | "EXPIRED" | "INTERRUPTED" | "PENDING";
}
export interface ResumeRun {
  answer: string;
  clarifyId: string;
}
/**
 * ``text`` is the final answer, whole: the last answer segment. ``segments`` counts the answer segments.
 */
export interface RunComplete {
  durationMs: number;
  kind: "run_complete";
  messageId?: string | null;
  runId: string;
  segments?: number;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text: string;
  usage?: Usage1;
}
/**
 * Tokens and cost of one turn (differences, never running totals). ``cost`` is in US dollars, absent when unknown.
 */
export interface Usage1 {
  cacheRead?: number;
  cacheWrite?: number;
  contextMax?: number | null;
  contextUsed?: number | null;
  cost?: number | null;
  input?: number;
  output?: number;
  reasoning?: number;
}
/**
 * ``message`` is a sentence that says what to do; ``code`` is stable (:mod:`.errors`); ``text`` is what was answered so far.
 */
export interface RunError {
  code: string;
  durationMs?: number | null;
  guardrailsFailureReason?: string | null;
  kind: "run_error";
  message: string;
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text?: string;
}
export interface RunStarted {
  contextTokens?: number | null;
  kind: "run_started";
  messageId?: string | null;
  model?: string | null;
  provider?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  skill?: string | null;
  t: number;
  tEnd?: number | null;
  userMessageId?: string | null;
  versions?: {
    [k: string]: string;
  };
}
export interface Thinking {
  kind: "thinking";
  messageId?: string | null;
  offset: number;
  runId: string;
  segment: number;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text: string;
}
/**
 * One live line. Decorations (kaomoji, spinner frames) are already stripped (R31).
 */
export interface Status {
  kind: "status";
  level?: "error" | "info" | "warning";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text: string;
}
export interface ToolCall {
  args: {
    [k: string]: unknown;
  };
  callId: string;
  kind: "tool_call";
  messageId?: string | null;
  risk?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  summary?: string;
  t: number;
  tEnd?: number | null;
  tool: string;
}
/**
 * ``result`` is the tool's own text; JSON stays JSON text, so that nothing is lost in a second encoding.
 */
export interface ToolResult {
  blob?: Blob | null;
  callId: string;
  durationMs?: number | null;
  isError?: boolean;
  kind: "tool_result";
  messageId?: string | null;
  result: string;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  truncated?: boolean;
}
/**
 * Always the whole list.
 */
export interface TodoUpdate {
  kind: "todo_update";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  todos: Todo[];
}
export interface Todo {
  content: string;
  id: string;
  status: "cancelled" | "completed" | "in_progress" | "pending";
}
export interface Subagent {
  goal?: string;
  kind: "subagent";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  state: "failed" | "finished" | "progress" | "started";
  subagentId: string;
  t: number;
  tEnd?: number | null;
  text?: string;
}
/**
 * Up to three follow-ups, before the terminal event (R52).
 */
export interface Suggestions {
  items: string[];
  kind: "suggestions";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
}
export interface UsageUpdate {
  kind: "usage";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  usage: Usage;
}
/**
 * ``cleaned`` is false where the worker had to be killed and Hermes could not tidy up after itself.
 */
export interface RunStopped {
  cleaned?: boolean;
  durationMs?: number | null;
  kind: "run_stopped";
  messageId?: string | null;
  runId: string;
  seq: number;
  seqEnd?: number | null;
  sessionId?: string | null;
  t: number;
  tEnd?: number | null;
  text?: string;
  usage?: Usage2;
}
/**
 * Tokens and cost of one turn (differences, never running totals). ``cost`` is in US dollars, absent when unknown.
 */
export interface Usage2 {
  cacheRead?: number;
  cacheWrite?: number;
  contextMax?: number | null;
  contextUsed?: number | null;
  cost?: number | null;
  input?: number;
  output?: number;
  reasoning?: number;
}
/**
 * ``POST /hermes/run``. ``session_id`` is ours, ``hermes_session`` is Hermes' own (R3); ``history`` is the exact context (R14).
 *
 * ``user_message`` is what the person typed; ``context`` is the wrapped notebook context that the model sees in front of it.
 */
export interface RunRequest {
  actions: {
    [k: string]: unknown;
  }[];
  context: string;
  hermesHome: string | null;
  hermesSession: string;
  history: {
    [k: string]: unknown;
  }[];
  maxIterations: number;
  modelConfig: ModelConfig1;
  runId: string;
  sessionId: string;
  skill: string | null;
  systemPrompt: string | null;
  toolsets: string[] | null;
  userMessage: string;
  userMessageId: string | null;
  workingDir: string | null;
}
/**
 * Which model; empty means Hermes' default. Keys never travel: they stay in Hermes' home.
 */
export interface ModelConfig1 {
  model: string | null;
  provider: string | null;
}
export interface RunStartedBody {
  messageId: string;
  runId: string;
  userMessageId: string;
}
/**
 * R22: enough to show a run without its stream. ``viewers`` counts the open page streams of the run's owner: where it is
 * 0, nobody sees a question in the page (R56).
 */
export interface RunState {
  error: ErrorBody | null;
  lastSeq: number;
  pending: Pause[];
  runId: string;
  sessionId: string;
  status: "FAILED" | "MARKER" | "RUNNING" | "SENT" | "STOPPED" | "SUCCESS" | "SUMMARY";
  text: string;
  viewers: number;
}
export interface Session {
  createdAt: number;
  hermesSession: string;
  id: string;
  lastMessageAt: number | null;
  lastSummarizedAt: number | null;
  modelId: string | null;
  owner: string;
  revision: number;
  skillFolder: string | null;
  status: "ACTIVE" | "ARCHIVED";
  title: string;
  titleByPerson: boolean;
  updatedAt: number;
  workingDir: string | null;
}
/**
 * ``event: session_changed``: a client that shows this session loads it again. ``revision`` 0 means that it is gone.
 */
export interface SessionChanged {
  revision: number;
  sessionId: string;
}
export interface SessionCreated {
  sessionId: string;
}
/**
 * A row of the list (R41).
 */
export interface SessionItem {
  activeRunId: string | null;
  hasActiveRun: boolean;
  lastMessagePreview: string;
  session: Session;
  waitingForInput: boolean;
}
export interface SessionList {
  hasMore: boolean;
  items: SessionItem[];
  total: number;
}
export interface SessionView {
  activeRunId: string | null;
  hasMore: boolean;
  messages: MessageView[];
  session: Session;
}
export interface SkillList {
  skills: SkillItem[];
}
export interface StartRun {
  context?: ContextItem[];
  maxIterations?: number;
  message?: string | null;
  mode?: "send";
  modelId?: string | null;
  parentMessageId?: string | null;
  skillFolder?: string | null;
}
export interface Steer {
  text: string;
}
export interface StopResult {
  cleaned: boolean;
  success: boolean;
}
export interface StopRun {
  force?: boolean;
}
/**
 * First event of the page's stream (``event: sync``): what runs, and which revision each recent session has.
 */
export interface SyncBody {
  revisions: {
    [k: string]: number;
  };
  runs: ActiveRun[];
}
/**
 * The model messages that one turn added to the context, or all of them after a compaction (design §6, R14).
 */
export interface Turn {
  messages: {
    [k: string]: unknown;
  }[];
  mode: "add" | "replace";
}
