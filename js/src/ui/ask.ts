/**
 * The question of a run that waits (zone 5, R37): choices by click or by number key, free text under 0.
 *
 * What is typed is kept under the question's own key until it is answered, so that neither a view that closes nor a lost
 * connection costs it.
 */
import type { ClarifyPart } from "../protocol/reduce";
import { Attempt } from "./attempt";
import { h } from "./dom";
import { icon } from "./icons";
import { clarifyKey } from "./questions";
import type { TurnContext } from "./turn-context";

let made = 0;

export class AskCard {
  readonly element: HTMLElement;
  readonly heading: HTMLElement;
  private readonly options: HTMLButtonElement[];
  private readonly field: HTMLTextAreaElement | null;
  private readonly attempt = new Attempt(() => this.element);

  constructor(private readonly part: ClarifyPart, private readonly context: TurnContext) {
    const { locale: { t }, actions } = context;
    const id = `hc-ask-${++made}`;
    this.heading = h("b", { id, tabindex: -1 }, part.question);
    this.options = part.choices.map((choice, i) =>
      h("button", { class: "hc-opt", disabled: !actions, onclick: () => { void this.answer(choice); } },
        i < 9 && h("kbd", { class: "hc-key", "aria-hidden": "true" }, String(i + 1)), h("span", {}, choice)));
    const free = part.allowOther || part.choices.length === 0;
    this.field = free && actions ? h("textarea", {
      class: "t", rows: 1, "aria-label": t("ask.other"), placeholder: t("ask.other"),
      oninput: () => { this.keep(); }, onkeydown: (event: KeyboardEvent) => { this.typed(event); },
    }) : null;
    if (this.field) this.field.value = context.draft(clarifyKey(part.clarifyId));
    const other = this.field && h("div", { class: "hc-other" },
      part.choices.length > 0 && h("kbd", { class: "hc-key", "aria-hidden": "true" }, "0"),
      h("div", { class: "hc-field" }, this.field,
        h("button", { class: "hc-b sm solid", onclick: () => { void this.answer(this.field?.value ?? ""); } }, t("ask.send"))));
    const keys = part.choices.length > 0 && t("ask.keys", { n: Math.min(part.choices.length, 9) });
    const hint = actions && h("div", { class: "hc-note" }, h("span", {}, [keys, this.field && t("ask.draft")].filter(Boolean).join(" ")));
    this.element = h("div", { class: "hc-card ask", role: "group", "aria-labelledby": id, onkeydown: (event: KeyboardEvent) => { this.pressed(event); } },
      h("div", { class: "h" }, icon("ask"), this.heading),
      h("div", { class: "b" }, this.options.length > 0 && h("div", { class: "hc-opts" }, ...this.options), other, this.attempt.failure, hint));
    this.grow();
  }

  /** A key anywhere in the card but in the text: 1–9 choose, 0 goes to the text. */
  private pressed(event: KeyboardEvent): void {
    if (event.target === this.field || event.ctrlKey || event.metaKey || event.altKey || !/^[0-9]$/.test(event.key)) return;
    const choice = this.part.choices[Number(event.key) - 1];
    if (event.key === "0" && this.field) this.field.focus();
    else if (choice !== undefined) void this.answer(choice);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private typed(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || composing(event)) return;
    event.preventDefault();
    void this.answer(this.field?.value ?? "");
  }

  private keep(): void {
    this.context.setDraft(clarifyKey(this.part.clarifyId), this.field?.value ?? "");
    this.grow();
  }

  private grow(): void {
    if (!this.field) return;
    this.field.style.blockSize = "auto";
    if (this.field.scrollHeight) this.field.style.blockSize = `${this.field.scrollHeight}px`;
  }

  private async answer(answer: string): Promise<void> {
    const { actions } = this.context;
    if (!actions || !answer.trim()) return;
    await this.attempt.run(async () => {
      await actions.answer(this.part.clarifyId, answer);
      this.context.setDraft(clarifyKey(this.part.clarifyId), "");
      this.context.answered();
    });
  }
}

/** Whether a key belongs to an input method and not to us; 229 is what Safari sends with the Enter that ends a composition. */
export function composing(event: KeyboardEvent): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return event.isComposing || event.keyCode === 229;
}
