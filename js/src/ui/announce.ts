/**
 * What a screen reader hears of a run: its boundaries, and questions at once; never tokens, status lines or tool rows (R62).
 *
 * The nodes are made once and stay, since a live region that is inserted together with its words is often not read.
 */
import type { Locale } from "../i18n/translate";
import { ended, pending, type TurnState } from "../protocol/reduce";
import { h } from "./dom";
import { questionId } from "./questions";

export interface Spoken { readonly polite?: string; readonly assertive?: string }

export class Announcer {
  private readonly polite = h("div", { role: "status" });
  private readonly assertive = h("div", { role: "alert" });
  readonly element = h("div", { class: "hc-sr" }, this.polite, this.assertive);

  say({ polite, assertive }: Spoken): void {
    if (polite !== undefined) this.polite.textContent = polite;
    if (assertive !== undefined) this.assertive.textContent = assertive;
  }
}

/** What is said when a run goes from one state to the next; a run that is seen for the first time comes from `initial`. */
export function spoken(before: TurnState, after: TurnState, locale: Locale): Spoken {
  const { t } = locale;
  if (ended(before) || after.phase === "starting") return {};
  if (after.phase === "stopped") return { polite: t("sr.stopped") };
  if (after.error) return { polite: t("sr.failed", { m: after.error.message }) };
  if (after.phase === "complete") return { polite: t("sr.finished", { n: after.toolCount, t: locale.duration(after.durationMs ?? 0) }) };
  const asked = new Set(pending(before).map(questionId));
  const fresh = pending(after).find((part) => !asked.has(questionId(part)));
  if (fresh?.type === "approval") return { assertive: t("sr.appr") };
  if (fresh) return { assertive: [t("sr.ask", { q: fresh.question }), ...fresh.choices.map((choice, i) => `${i + 1} ${choice}`)].join(" · ") };
  return before.phase === "starting" ? { polite: t("sr.started") } : {};
}
