/**
 * One turn of the agent, drawn from its `TurnState` alone: live, in history and in a cell by this one class (R32).
 *
 * It stands still while it grows: what is above the answer is only ever added to in its order, the head line keeps its place,
 * and when the run ends the process folds with the answer's top edge held, unless the reader opened it, is in it, or has
 * scrolled up. Nodes are made once and kept; text of the agent reaches them as text nodes only.
 */
import { MarkdownView } from "../markdown/stream";
import { ended, pending, type Part, type TurnState } from "../protocol/reduce";
import { ApprovalCard } from "./approval";
import { AskCard } from "./ask";
import { copyText, h, keepEdge } from "./dom";
import { icon } from "./icons";
import { markdownOptions } from "./markdown-options";
import { Plan } from "./plan";
import { questionId } from "./questions";
import type { TurnContext } from "./turn-context";
import { TurnEnd } from "./turn-end";
import { TurnHead } from "./turn-head";
import { rowFor, type Moment, type Row } from "./turn-rows";

type Card = AskCard | ApprovalCard;

export class Turn {
  readonly element: HTMLElement;
  private readonly head: TurnHead;
  private readonly process = h("div", { class: "hc-proc" });
  private readonly plan: Plan;
  private readonly answer = h("div", { class: "hc-md", hidden: true });
  private readonly cards = h("div", { class: "hc-cards", hidden: true });
  private readonly end: TurnEnd;
  private readonly copy: HTMLButtonElement;
  private readonly actions: HTMLElement;
  private readonly suggestions = h("div", { class: "hc-sugs", hidden: true });

  private readonly rows: { part: Part; row: Row; live: boolean }[] = [];
  private readonly shownCards = new Map<string, Card>();
  private markdown: MarkdownView | null = null;
  private segment: number | null = null;
  private state: TurnState;
  private open: boolean;
  private touched = false;
  private startedAt = Infinity;
  private timer: ReturnType<typeof setInterval> | null = null;

  constructor(private readonly context: TurnContext, state: TurnState) {
    const { locale } = context;
    this.state = state;
    this.open = !ended(state);
    this.head = new TurnHead(context, () => { this.toggle(); });
    this.plan = new Plan(locale);
    this.end = new TurnEnd(context);
    this.copy = this.copyButton();
    this.actions = h("div", { class: "hc-acts", hidden: true }, this.copy, context.foot ?? null);
    this.element = h("div", { class: "hc-turn hc-agent", role: "article", "aria-label": locale.t("sr.turn") },
      this.head.element, this.process, this.plan.element, this.answer, this.cards, this.end.element, this.actions, this.suggestions);
    this.draw(state);
  }

  /** Headings of the questions that wait, oldest first, for the focus. */
  get questions(): HTMLElement[] {
    return [...this.shownCards.values()].map((card) => card.heading);
  }

  update(state: TurnState): void {
    if (state === this.state) return;
    const ends = ended(state) && !ended(this.state);
    this.state = state;
    if (ends && this.open && this.mayFold()) {
      keepEdge(this.answer.hidden ? this.end.element : this.answer, this.context.scroller,
        [this.plan.element, this.answer, this.end.element, this.actions, this.suggestions], () => {
          this.open = false;
          this.draw(state);
        });
    } else {
      this.draw(state);
    }
  }

  dispose(): void {
    this.stopClock();
    this.markdown?.dispose();
    for (const { row } of this.rows) row.dispose?.();
  }

  private draw(state: TurnState): void {
    const over = ended(state);
    this.time(state, over);
    const moment = this.moment(over);
    this.drawRows(state, moment);
    this.plan.show(state.todos);
    this.fold();
    this.drawAnswer(state, over);
    this.drawCards(state);
    this.end.show(state);
    // Their line is kept free while the answer grows, so that the end moves nothing.
    this.actions.hidden = state.text === "" && !(over && this.context.foot);
    this.actions.classList.toggle("rest", !over);
    this.copy.hidden = state.text === "";
    this.suggest(over ? state.suggestions : []);
  }

  private drawRows(state: TurnState, moment: Moment): void {
    const current = state.parts.findLastIndex((part) => part.type === "answer");
    const together = atOnce(state.parts);
    let before: Element | null = null;
    state.parts.forEach((part, i) => {
      const waits = (part.type === "clarify" || part.type === "approval") && part.status === "pending";
      const shown = this.rows[i];
      // What stands before another part has ended, also while the run goes on.
      const live = moment.live && i === state.parts.length - 1;
      if (!shown) {
        const row = rowFor(part, this.context);
        row.update(part, { ...moment, live });
        this.rows[i] = { part, row, live };
      } else if (shown.part !== part || shown.live !== live || !moment.live) {
        Object.assign(shown, { part, live });
        shown.row.update(part, { ...moment, live });
      }
      const element = (this.rows[i] as { row: Row }).row.element;
      if (i === current || waits) {
        element.remove();
        return;
      }
      const group = together.get(i);
      element.classList.toggle("sub", group !== undefined);
      if (group?.first === i) {
        const header = this.groupHeader(i, group.count);
        place(this.process, header, before);
        before = header;
      }
      place(this.process, element, before);
      before = element;
    });
  }

  private readonly headers = new Map<number, { element: HTMLElement; words: HTMLElement }>();
  private groupHeader(first: number, count: number): HTMLElement {
    let header = this.headers.get(first);
    if (!header) {
      const words = h("span");
      header = { words, element: h("div", { class: "hc-r" }, icon("parallel"), words) };
      this.headers.set(first, header);
    }
    header.words.textContent = this.context.locale.t("run.atonce", { n: count });
    return header.element;
  }

  private drawAnswer(state: TurnState, over: boolean): void {
    const part = state.parts.findLast((p) => p.type === "answer");
    const segment = part?.segment ?? null;
    if (this.markdown && segment !== this.segment) {
      this.markdown.dispose();
      this.answer.replaceChildren();
      this.markdown = null;
    }
    this.segment = segment;
    this.answer.hidden = state.text === "";
    this.answer.classList.toggle("live", state.phase === "running");
    if (state.text === "") return;
    this.markdown ??= new MarkdownView(this.answer, markdownOptions(this.context.locale));
    if (over) this.markdown.finish(state.text);
    else this.markdown.set(state.text);
  }

  private drawCards(state: TurnState): void {
    const waiting = pending(state);
    const ids = new Set(waiting.map(questionId));
    for (const [id, card] of this.shownCards) {
      if (ids.has(id)) continue;
      card.element.remove();
      this.shownCards.delete(id);
    }
    for (const part of waiting) {
      if (this.shownCards.has(questionId(part))) continue;
      const card = part.type === "clarify" ? new AskCard(part, this.context) : new ApprovalCard(part, this.context);
      this.shownCards.set(questionId(part), card);
      this.cards.append(card.element);
    }
    this.cards.hidden = waiting.length === 0;
  }

  private suggest(items: readonly string[]): void {
    const send = this.context.actions?.send;
    const shown = send ? items : [];
    this.suggestions.hidden = shown.length === 0;
    this.suggestions.replaceChildren(...shown.map((text) =>
      h("button", { class: "hc-sug", onclick: () => { send?.(text); } }, icon("send"), h("span", { class: "hc-grow" }, text))));
  }

  private copyButton(): HTMLButtonElement {
    const { t } = this.context.locale;
    const button = h("button", { class: "hc-ib sm", title: t("act.copy"), "aria-label": t("act.copy"), onclick: () => {
      void copyText(this.state.text, button, t("act.copied"));
    } }, icon("copy"));
    return button;
  }

  private toggle(): void {
    this.touched = !this.open;
    this.open = !this.open;
    this.fold();
  }

  /** The process folds at any time; the plan stays in sight until the end (zone 4). */
  private fold(): void {
    const rows = this.process.childElementCount > 0;
    const planned = this.state.todos.length > 0;
    const over = ended(this.state);
    this.process.hidden = !this.open || !rows;
    this.plan.element.hidden = !planned || (over && !this.open);
    this.head.show(this.state, this.open, rows || (over && planned));
  }

  /** Whether the process may fold by itself: never under the eyes or hands of the reader. */
  private mayFold(): boolean {
    if (this.touched || !this.context.following()) return false;
    const root = this.element.getRootNode() as (Document | ShadowRoot) & { getSelection?: () => Selection | null };
    if (this.process.contains(root.activeElement)) return false;
    const selection = root.getSelection ? root.getSelection() : document.getSelection();
    return !selection || selection.isCollapsed || !this.process.contains(selection.anchorNode);
  }

  // ---- time: the run's own clock is only known through its events, each of which bounds when the run began ---------------

  private time(state: TurnState, over: boolean): void {
    const known = latest(state);
    if (over) {
      this.stopClock();
      return;
    }
    this.startedAt = Math.min(this.startedAt, performance.now() - known);
    if (state.phase === "waiting") {
      this.stopClock(); // the time of a person who thinks is not Hermes' time
      this.head.time(known);
      return;
    }
    this.timer ??= setInterval(() => { this.tick(); }, 1000);
    this.head.time(performance.now() - this.startedAt);
  }

  private tick(): void {
    const moment = this.moment(false);
    this.head.time(moment.elapsed ?? 0);
    for (const { row } of this.rows) row.tick?.(moment);
  }

  private moment(over: boolean): Moment {
    return { live: !over, elapsed: over ? null : performance.now() - this.startedAt };
  }

  private stopClock(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }
}

/** Moves `element` behind `before` (null: to the front), unless it stands there already. */
function place(parent: Element, element: Element, before: Element | null): void {
  const next = before ? before.nextElementSibling : parent.firstElementChild;
  if (next !== element) parent.insertBefore(element, next);
}

/** The newest time that the state knows of, in ms since the start of the run. */
function latest(state: TurnState): number {
  return state.parts.reduce((max, part) => {
    if (part.type === "thinking" || part.type === "answer") return Math.max(max, part.end);
    return part.type === "tool" ? Math.max(max, part.start + (part.durationMs ?? 0)) : max;
  }, 0);
}

/** Tools that ran at the same time, by index: where their group begins and how many they are. */
export function atOnce(parts: readonly Part[]): Map<number, { first: number; count: number }> {
  const groups = new Map<number, { first: number; count: number }>();
  let group = { first: -1, count: 0 };
  let busyUntil = -Infinity;
  parts.forEach((part, i) => {
    if (part.type !== "tool") {
      busyUntil = -Infinity;
      return;
    }
    const end = part.durationMs === null ? Infinity : part.start + part.durationMs;
    if (part.start < busyUntil - 2) {
      group.count++;
      groups.set(group.first, group);
      groups.set(i, group);
      busyUntil = Math.max(busyUntil, end);
    } else {
      group = { first: i, count: 1 };
      busyUntil = end;
    }
  });
  return groups;
}
