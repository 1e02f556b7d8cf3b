/**
 * One turn as the output of a cell: see ./contract.ts.
 *
 * A live bundle is streamed through the pool and answered in place; when its run has ended, the final bundle is saved once.
 * A final bundle is drawn from itself alone. Untrusted, nothing is requested and nothing is saved.
 */
import { effect } from "@preact/signals";

import { Locale, pageLanguage } from "../i18n/translate";
import { ended, initial, type TurnState } from "../protocol/reduce";
import { Announcer, spoken } from "./announce";
import type { RenderedTurn, TurnBundle, TurnOptions } from "./contract";
import { h } from "./dom";
import { blobPath } from "./flow";
import { followRun } from "./follow-run";
import { openHost } from "./host";
import { icon } from "./icons";
import { Turn } from "./turn";
import type { TurnContext } from "./turn-context";

export function renderTurn(element: HTMLElement, bundle: TurnBundle, options: TurnOptions): RenderedTurn {
  const locale = new Locale(pageLanguage());
  const host = openHost(element, "cell", locale.language);
  const view = new CellTurn(host.root, locale, options);
  view.show(bundle);
  return {
    update: (next) => { view.show(next); },
    dispose() {
      view.dispose();
      host.dispose();
    },
  };
}

class CellTurn {
  private readonly announcer = new Announcer();
  private readonly note = h("div", { class: "hc-state hc-muted sm", hidden: true });
  private readonly foot = h("div", { class: "hc-foot" });
  private turn: Turn | null = null;
  private run = "";
  private leave: () => void = () => undefined;

  constructor(private readonly root: HTMLElement, private readonly locale: Locale, private readonly options: TurnOptions) {
    root.append(this.note, this.announcer.element);
  }

  show(bundle: TurnBundle): void {
    if (bundle.run !== this.run) this.clear();
    this.run = bundle.run;
    if (!bundle.live) {
      this.leave();
      this.draw(bundle, bundle.state);
      this.stored(bundle);
    } else if (!this.options.trusted || !this.options.pool) {
      this.say(this.locale.t(this.options.trusted ? "nb.offline" : "nb.untrusted"));
    } else if (!this.turn) {
      this.follow(bundle, this.options.pool);
    }
  }

  dispose(): void {
    this.clear();
  }

  private follow(bundle: TurnBundle, pool: NonNullable<TurnOptions["pool"]>): void {
    let before = initial(bundle.run);
    this.draw(bundle, pool.run(bundle.run).peek());
    const stop = followRun(pool, bundle.run, {
      show: (state) => {
        this.turn?.update(state);
        if (ended(state)) this.stored(bundle);
      },
      changed: (state) => {
        this.announcer.say(spoken(before, state, this.locale));
        before = state;
        if (ended(state)) this.save(bundle, state);
      },
    });
    const stopProblem = effect(() => {
      const problem = pool.problem(bundle.run).value;
      if (problem) this.say(this.locale.t("nb.lost", { m: problem.message }));
      else this.note.hidden = true;
      if (this.turn) this.turn.element.hidden = problem !== null && pool.run(bundle.run).value.seq === 0;
    });
    this.leave = () => {
      stop();
      stopProblem();
    };
  }

  private draw(bundle: TurnBundle, state: TurnState): void {
    this.note.hidden = true;
    if (this.turn) {
      this.turn.update(state);
      return;
    }
    this.turn = new Turn(this.context(bundle), state);
    this.root.prepend(this.turn.element);
  }

  private context(bundle: TurnBundle): TurnContext {
    const { pool, trusted } = this.options;
    const reach = trusted ? pool : null;
    return {
      locale: this.locale,
      foot: this.foot,
      actions: reach && bundle.live ? {
        answer: (clarifyId, answer) => reach.answer(bundle.run, clarifyId, answer),
        approve: (approvalId, choice) => reach.approve(bundle.run, approvalId, choice),
        stop: async () => { await reach.stop(bundle.run); },
      } : null,
      draft: (key) => reach?.draft(key) ?? "",
      setDraft: (key, text) => { reach?.setDraft(key, text); },
      blobUrl: (part) => (reach && part.blob ? reach.transport.url(blobPath(bundle.session, part.blob.sha256)) : null),
      scroller: null,
      following: () => true,
      answered: () => undefined,
    };
  }

  private save(bundle: TurnBundle, state: TurnState): void {
    this.options.save?.({ version: 1, run: bundle.run, session: bundle.session, live: false, state });
  }

  private stored(bundle: TurnBundle): void {
    const { openChat, trusted } = this.options;
    const { t } = this.locale;
    this.foot.replaceChildren(...[
      openChat && trusted && h("button", { class: "hc-b sm quiet", onclick: () => { openChat(bundle.session); } }, icon("chat"), t("nb.open")),
      h("span", { class: "hc-grow" }), h("span", { class: "hc-time" }, t("nb.stored")),
    ].filter((node) => node instanceof Node));
  }

  private say(words: string): void {
    this.note.hidden = false;
    this.note.replaceChildren(icon("info"), h("span", {}, words));
  }

  private clear(): void {
    this.leave();
    this.leave = () => undefined;
    this.turn?.dispose();
    this.turn?.element.remove();
    this.turn = null;
  }
}
