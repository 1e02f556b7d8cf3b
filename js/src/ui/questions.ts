/** Keys of what waits for a person: of its card, of what was typed for it. */
import type { ApprovalPart, ClarifyPart } from "../protocol/reduce";

export type Question = ClarifyPart | ApprovalPart;

export function questionId(part: Question): string {
  return part.type === "clarify" ? clarifyKey(part.clarifyId) : `approval:${part.approvalId}`;
}

/** Under which the pool keeps a draft. */
export function clarifyKey(clarifyId: string): string {
  return `clarify:${clarifyId}`;
}
