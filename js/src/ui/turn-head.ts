/**
 * The head of a turn: the live status line, which becomes the summary line at the end. Same place, same 24 px.
 */
import { ended, type Part, type TurnState } from "../protocol/reduce";
import { Attempt } from "./attempt";
import { h, setText } from "./dom";
import { icon } from "./icons";
import type { TurnContext } from "./turn-context";

export class TurnHead {
  element: HTMLElement = h("div");
  private readonly now = h("span", { class: "now hc-clip hc-grow" });
  private readonly clock = h("span", { class: "hc-time" });
  private mode = "";
  private openShown = false;
  private status = "";
  private activity = "";
  private pinned = "";

  /** `toggle` folds and unfolds the process. */
  constructor(private readonly context: TurnContext, private readonly toggle: () => void) {}

  /** `foldable` is whether there is anything to unfold. */
  show(state: TurnState, open: boolean, foldable: boolean): void {
    const over = ended(state);
    const mode = `${over ? "done" : state.phase === "waiting" ? "waiting" : "running"} ${foldable}`;
    if (mode !== this.mode) {
      this.mode = mode;
      this.replace(over ? this.summary(foldable) : this.live(state.phase === "waiting", foldable), open);
    } else if (open !== this.openShown) {
      this.unfolded(open);
    }
    setText(this.now, over ? summaryText(state, this.context) : this.statusText(state));
    if (over) this.element.hidden = this.now.textContent === "";
  }

  /** `elapsed` in ms. */
  time(elapsed: number): void {
    setText(this.clock, this.context.locale.clock(elapsed));
  }

  private live(waiting: boolean, foldable: boolean): HTMLElement {
    const { locale: { t }, actions } = this.context;
    const stop = actions?.stop;
    const attempt = new Attempt(() => this.element);
    return h("div", { class: "hc-head" },
      waiting ? icon("now", "hc-acc") : icon("spinner", "hc-spin"), this.now, this.clock,
      stop !== undefined && attempt.failure,
      stop !== undefined && h("button", { class: "hc-b sm quiet", onclick: () => { void attempt.run(stop); } }, icon("stop"), t("nb.stop")),
      foldable && h("button", { class: "hc-ib sm fold", title: t("sum.show"), "aria-label": t("sum.show"), onclick: this.toggle }, icon("right", "chev")));
  }

  private summary(foldable: boolean): HTMLElement {
    if (!foldable) return h("div", { class: "hc-head done plain" }, this.now);
    const title = this.context.locale.t("sum.show");
    return h("button", { class: "hc-head done fold", title, onclick: this.toggle }, icon("right", "chev"), this.now);
  }

  private replace(next: HTMLElement, open: boolean): void {
    const focused = this.element.contains((this.element.getRootNode() as Document | ShadowRoot).activeElement);
    this.element.replaceWith(next);
    this.element = next;
    this.unfolded(open);
    if (focused) next.focus();
  }

  private unfolded(open: boolean): void {
    this.openShown = open;
    const button = this.element.matches(".fold") ? this.element : this.element.querySelector(".fold");
    button?.setAttribute("aria-expanded", String(open));
  }

  /** A status of the run until something newer happens; else what the newest part does. */
  private statusText(state: TurnState): string {
    const { t } = this.context.locale;
    if (state.phase === "waiting") return t("run.waiting");
    const status = state.status?.text ?? "";
    const part = state.parts.findLast((p) => p.type === "tool" && p.status === "running") ?? state.parts.at(-1);
    const activity = activityOf(part);
    if (activity !== this.activity || status !== this.status) {
      const fresh = status !== this.status && status !== "" ? status : "";
      this.status = status;
      this.activity = activity;
      this.pinned = fresh;
    }
    if (this.pinned) return this.pinned;
    if (part?.type === "thinking") return t("run.thinking");
    if (part?.type === "answer") return t("run.writing");
    if (part?.type === "tool" && part.status === "running") return part.summary ? `${part.tool} ${part.summary}` : part.tool;
    return part ? t("run.thinking") : t("run.starting");
  }

}

function activityOf(part: Part | undefined): string {
  if (!part) return "";
  if (part.type === "thinking" || part.type === "answer") return `${part.type}${part.segment}:${part.text.length}`;
  return part.type === "tool" ? `${part.callId}:${part.status}` : part.type;
}

function summaryText(state: TurnState, { locale }: TurnContext): string {
  const { t } = locale;
  const tokens = (state.usage?.input ?? 0) + (state.usage?.output ?? 0);
  const thought = state.parts.some((part) => part.type === "thinking");
  return [
    thought ? t("run.thought", { t: locale.duration(state.thinkingMs) })
      : state.phase === "complete" && state.durationMs !== null && t("run.took", { t: locale.duration(state.durationMs) }),
    state.toolCount > 0 && t("sum.tools", { n: state.toolCount }),
    tokens > 0 && t("sum.tokens", { n: locale.compact(tokens) }),
  ].filter(Boolean).join(" · ");
}
