/**
 * The conversation: messages in their order, the newest turn live, following the end until the reader scrolls up.
 *
 * Nodes are kept by message id, so that a message that is loaded again, or a run that becomes history, changes nothing on the
 * screen. A turn is drawn from its run's state, wherever that came from (R32).
 */
import type { Pool } from "../core/contract";
import type { Locale } from "../i18n/translate";
import { ended, initial, type TurnState } from "../protocol/reduce";
import type { Message, MessageView } from "../protocol/types";
import { copyText, h } from "./dom";
import { followRun } from "./follow-run";
import { icon } from "./icons";
import { Turn } from "./turn";
import type { TurnActions, TurnContext } from "./turn-context";

/** A message that was sent and is not in the session's messages yet. */
export interface Pending { readonly text: string; readonly userMessageId: string | null; readonly runId: string | null }

export interface FlowOptions {
  readonly pool: Pool;
  readonly locale: Locale;
  /** The session that is shown: for the addresses of large results. */
  readonly sessionId: () => string;
  readonly actions: (runId: string) => TurnActions;
  /** At once for every change of a run that is followed; the first `before` is `initial`. */
  readonly changed: (before: TurnState, after: TurnState) => void;
  /** A question appeared on the screen while its turn was shown. */
  readonly asked: (heading: HTMLElement) => void;
  readonly answered: () => void;
}

interface Item {
  readonly element: HTMLElement;
  /** The message was loaded again. */
  reloaded?(message: Message): void;
  dispose?(): void;
}

const NEAR_END = 24;

export class Flow {
  private readonly list: HTMLElement;
  private readonly items = new Map<string, Item>();
  private readonly resized: ResizeObserver | null;
  private follows = true;
  private lastTop = 0;

  /** `scroller` is the element that scrolls; the list is made inside. */
  constructor(private readonly scroller: HTMLElement, private readonly options: FlowOptions) {
    this.list = h("div", { class: "hc-flow", role: "log", "aria-live": "off", tabindex: 0, "aria-label": options.locale.t("sr.log") });
    scroller.append(this.list);
    scroller.addEventListener("scroll", this.scrolled);
    this.resized = "ResizeObserver" in globalThis ? new ResizeObserver(() => { this.toEnd(); }) : null;
    this.resized?.observe(this.list);
    this.resized?.observe(scroller);
  }

  show(messages: readonly MessageView[], pending: Pending | null): void {
    const known = new Set(messages.map((view) => view.message.id));
    const first = this.list.firstElementChild;
    const before = first?.getBoundingClientRect().top ?? 0;
    const wanted = new Set<string>();
    const want = (key: string, make: () => Item): void => {
      wanted.add(key);
      let item = this.items.get(key);
      if (!item) this.items.set(key, (item = make()));
      const at = this.list.children[wanted.size - 1];
      if (at !== item.element) this.list.insertBefore(item.element, at ?? null);
    };
    for (const { message } of messages) {
      this.items.get(message.id)?.reloaded?.(message);
      if (message.role === "USER") want(message.id, () => this.bubble(message.content));
      else if (message.role === "ASSISTANT") want(message.id, () => this.turn(message.runId ?? message.id, message));
      else want(message.id, () => this.divider(message));
    }
    if (pending && (pending.userMessageId === null || !known.has(pending.userMessageId))) {
      want(pending.userMessageId ?? "pending", () => this.bubble(pending.text));
    }
    const runId = pending?.runId;
    if (runId && !known.has(runId)) want(runId, () => this.turn(runId, null));
    if (pending && !runId) want("starting", () => this.starting());
    for (const [key, item] of this.items) {
      if (wanted.has(key)) continue;
      item.dispose?.();
      item.element.remove();
      this.items.delete(key);
    }
    this.label();
    if (this.follows) this.toEnd();
    else if (first?.isConnected) this.scroller.scrollTop += first.getBoundingClientRect().top - before;
  }

  /** A message was sent from here: its reply is wanted in sight. */
  toNewest(): void {
    this.follows = true;
    this.toEnd();
  }

  dispose(): void {
    this.resized?.disconnect();
    this.scroller.removeEventListener("scroll", this.scrolled);
    for (const item of this.items.values()) item.dispose?.();
    this.list.remove();
  }

  private readonly scrolled = (): void => {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (scrollHeight - scrollTop - clientHeight < NEAR_END) this.follows = true;
    else if (scrollTop < this.lastTop) this.follows = false;
    this.lastTop = scrollTop;
  };

  private toEnd(): void {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  private bubble(text: string): Item {
    const { t } = this.options.locale;
    const copy = h("button", { class: "hc-ib sm", title: t("act.copy"), "aria-label": t("act.copy"), onclick: () => {
      void copyText(text, copy, t("act.copied"));
    } }, icon("copy"));
    const element = h("div", { class: "hc-turn hc-user", role: "article", "aria-label": t("sr.you") },
      h("div", { class: "hc-bub", dir: "auto" }, text), h("div", { class: "hc-acts" }, copy));
    return { element };
  }

  private turn(runId: string, message: Message | null): Item {
    const { pool, changed, asked } = this.options;
    const state = settled(pool.run(runId).peek(), message);
    const turn = new Turn(this.context(this.options.actions(runId)), state);
    if (ended(state)) return { element: turn.element, dispose: () => { turn.dispose(); } };
    let before = initial(runId);
    let over = false;
    const stop = followRun(pool, runId, {
      show: (next) => {
        if (over) return;
        const known = new Set(turn.questions);
        turn.update(next);
        for (const heading of turn.questions) if (!known.has(heading)) asked(heading);
      },
      changed: (next) => {
        changed(before, next);
        before = next;
      },
    });
    return {
      element: turn.element,
      reloaded: (newer) => {
        const last = settled(pool.run(runId).peek(), newer);
        if (over || !ended(last)) return;
        over = true;
        turn.update(last);
      },
      dispose: () => { stop(); turn.dispose(); },
    };
  }

  /** Stands for a run until the server has given it a name. */
  private starting(): Item {
    const turn = new Turn(this.context(null), initial(""));
    return { element: turn.element, dispose: () => { turn.dispose(); } };
  }

  private context(actions: TurnActions | null): TurnContext {
    const { pool, locale, answered, sessionId } = this.options;
    return {
      actions, locale, answered, scroller: this.scroller,
      draft: (key) => pool.draft(key),
      setDraft: (key, text) => { pool.setDraft(key, text); },
      blobUrl: (part) => part.blob && pool.transport.url(blobPath(sessionId(), part.blob.sha256)),
      following: () => this.follows,
    };
  }

  /** A summary of older messages, or a mark between turns. */
  private divider(message: Message): Item {
    const summary = message.status === "SUMMARY";
    const words = summary ? this.options.locale.t("div.compacted") : message.content;
    const line = h("div", { class: "hc-div" }, h("span", {}, icon(summary ? "compact" : "cut"), words));
    const element = summary
      ? h("details", { class: "hc-fold" }, h("summary", {}, line), h("div", { class: "hc-sum" }, message.content))
      : line;
    return { element };
  }

  private label(): void {
    const { t } = this.options.locale;
    const turns = [...this.list.children].filter((element) => element.matches(".hc-agent"));
    turns.forEach((element, i) => {
      element.setAttribute("aria-label", t("sr.turn.of", { a: i + 1, b: turns.length }));
      element.classList.toggle("last", i === turns.length - 1);
    });
  }
}

export function blobPath(sessionId: string, sha256: string): string {
  return `hermes/api/chat/sessions/${encodeURIComponent(sessionId)}/blobs/${sha256}`;
}

const PHASES = { SUCCESS: "complete", FAILED: "error", STOPPED: "stopped" } as const;

/** A message that has ended, but whose log does not say so (it was lost, or a server died before the first event), as its record tells it. */
export function settled(state: TurnState, message: Message | null): TurnState {
  if (!message || ended(state) || !(message.status in PHASES)) return state;
  return {
    ...(state.seq ? state : initial(state.runId)),
    phase: PHASES[message.status as keyof typeof PHASES],
    text: state.text || message.content,
    usage: message.usage,
    error: message.error && { code: message.error.code, message: message.error.message, guardrailsFailureReason: null },
  };
}
