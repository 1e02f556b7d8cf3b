/** What a turn needs of the place where it is shown. */
import type { Locale } from "../i18n/translate";
import type { Choice, ToolPart } from "../protocol/reduce";

/** What a person can do with a turn; absent where nobody can answer (a stored reply in a cell). */
export interface TurnActions {
  answer(clarifyId: string, answer: string): Promise<void>;
  approve(approvalId: string, choice: Choice): Promise<void>;
  /** Stop in the head line: for a cell output, which has no composer. */
  readonly stop?: () => Promise<void>;
  /** Sends a message in this chat. */
  readonly send?: (text: string) => void;
}

export interface TurnContext {
  readonly locale: Locale;
  readonly actions: TurnActions | null;
  /** What was typed and not sent, by key. */
  draft(key: string): string;
  setDraft(key: string, text: string): void;
  /** Where a result too large for the log can be loaded; null where no server is in reach. */
  blobUrl(part: ToolPart): string | null;
  /** Stands beside the actions below a finished answer. */
  readonly foot?: HTMLElement;
  /** What scrolls around the turn, where this interface owns it. */
  readonly scroller: Element | null;
  /** Whether the reader is at the end, following. */
  following(): boolean;
  /** A question was answered here: the focus may go back to the composer. */
  answered(): void;
}
