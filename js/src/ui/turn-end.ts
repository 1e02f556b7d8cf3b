/** What stands below an answer when a run did not simply finish: stopped, failed, declined, and what the reader should know. */
import { ended, type TurnState } from "../protocol/reduce";
import { h } from "./dom";
import { icon } from "./icons";
import { clarifyKey } from "./questions";
import type { TurnContext } from "./turn-context";

export class TurnEnd {
  readonly element = h("div", { class: "hc-ends", hidden: true });
  private shown = "";

  constructor(private readonly context: TurnContext) {}

  show(state: TurnState): void {
    const notices = state.parts.filter((part) => part.type === "notice" && part.level !== "info");
    const key = `${state.phase} ${notices.length}`;
    if (key === this.shown) return;
    this.shown = key;
    const nodes = [
      ...notices.map((part) => h("div", { class: "hc-note" }, icon("warn"), part.type === "notice" && part.text)),
      ...(state.phase === "stopped" ? [this.stopped(state)] : []),
      ...(state.error ? [state.error.code === "guardrail" ? this.declined(state.error) : this.failed(state.error)] : []),
      ...(ended(state) ? this.unsentAnswers(state) : []),
    ];
    this.element.hidden = nodes.length === 0;
    this.element.replaceChildren(...nodes);
  }

  private stopped(state: TurnState): HTMLElement {
    const { locale } = this.context;
    const words = state.durationMs === null ? locale.t("st.stopped.short") : locale.t("st.stopped", { t: locale.duration(state.durationMs) });
    return h("div", { class: "hc-state hc-muted sm" }, icon("stopped"), h("span", {}, words));
  }

  private failed(error: NonNullable<TurnState["error"]>): HTMLElement {
    const { t } = this.context.locale;
    return h("div", { class: "hc-state bad" }, icon("error"),
      h("div", { class: "hc-grow" }, error.message || t("st.failed"),
        h("details", {}, h("summary", {}, t("st.details")), h("code", { class: "hc-mono" }, error.code))));
  }

  private declined(error: NonNullable<TurnState["error"]>): HTMLElement {
    const { t } = this.context.locale;
    return h("div", { class: "hc-state" }, icon("shield"), h("div", { class: "hc-grow" }, error.message || t("st.guard"),
      error.guardrailsFailureReason !== null && h("div", { class: "hc-why" }, error.guardrailsFailureReason)));
  }

  /** A question that Hermes no longer waits for, with text that was typed for it (R37): nothing typed is lost. */
  private unsentAnswers(state: TurnState): HTMLElement[] {
    const { locale: { t }, actions } = this.context;
    const send = actions?.send;
    if (!send) return [];
    return state.parts.flatMap((part) => {
      if (part.type !== "clarify" || part.status === "answered") return [];
      const key = clarifyKey(part.clarifyId);
      const draft = this.context.draft(key).trim();
      if (!draft) return [];
      const done = (): void => {
        this.context.setDraft(key, "");
        row.remove();
      };
      const row: HTMLElement = h("div", { class: "hc-state" }, icon("ask"), h("div", { class: "hc-grow" }, t("ask.expired"),
        h("div", { class: "bt" },
          h("button", { class: "hc-b sm solid", onclick: () => { done(); send(draft); } }, t("comp.send")),
          h("button", { class: "hc-b sm quiet", onclick: done }, t("nt.dismiss")))));
      return [row];
    });
  }
}
