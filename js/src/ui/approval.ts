/**
 * A command that Hermes may not run by itself (R38). The command is shown exactly; whatever in it cannot be seen stands as a
 * red code point, so that it cannot look like another command. Nothing is taken as an answer in the first half second, so
 * that a click or key that was meant for something else does not allow it.
 */
import type { ApprovalPart, Choice } from "../protocol/reduce";
import { Attempt } from "./attempt";
import { h } from "./dom";
import { icon } from "./icons";
import { codePointName, revealed } from "./readable";
import type { TurnContext } from "./turn-context";

const DEAF_MS = 500;
let made = 0;

export class ApprovalCard {
  readonly element: HTMLElement;
  readonly heading: HTMLElement;
  private readonly appeared = performance.now();
  private readonly choices: readonly Choice[];
  private readonly attempt = new Attempt(() => this.element);

  constructor(private readonly part: ApprovalPart, private readonly context: TurnContext) {
    const { locale: { t }, actions } = context;
    const id = `hc-approval-${++made}`;
    this.heading = h("b", { id, tabindex: -1 }, t("appr.title"));
    this.choices = [...part.choices.filter((choice) => choice !== "deny"), "deny"];
    const pieces = revealed(part.command);
    const hidden = pieces.filter((piece) => typeof piece !== "string").length;
    const command = h("div", { class: "hc-cmd", dir: "ltr" }, ...pieces.flatMap((piece) => typeof piece === "string" ? lines(piece) : [chip(piece.code)]));
    const buttons = actions && h("div", { class: "hc-btns eq" }, ...this.choices.map((choice, i) =>
      h("button", { class: choice === "deny" ? "hc-b deny" : "hc-b", onclick: () => { void this.choose(choice); } },
        h("kbd", { class: "hc-key", "aria-hidden": "true" }, String(i + 1)), t(`appr.${choice}`))));
    this.element = h("div", { class: "hc-card risk", role: "group", "aria-labelledby": id, onkeydown: (event: KeyboardEvent) => { this.pressed(event); } },
      h("div", { class: "h" }, icon("warn"), h("div", {}, this.heading, part.description !== "" && h("div", { class: "hc-why" }, part.description))),
      h("div", { class: "b" }, command, hidden > 0 && h("div", { class: "hc-note" }, t("appr.hidden", { n: hidden })), buttons, this.attempt.failure));
  }

  private pressed(event: KeyboardEvent): void {
    const choice = /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey && this.choices[Number(event.key) - 1];
    if (!choice) return;
    event.preventDefault();
    event.stopPropagation();
    void this.choose(choice);
  }

  private async choose(choice: Choice): Promise<void> {
    const { actions } = this.context;
    if (!actions || performance.now() - this.appeared < DEAF_MS) return;
    await this.attempt.run(async () => {
      await actions.approve(this.part.approvalId, choice);
      this.context.answered();
    });
  }
}

function chip(code: number): HTMLElement {
  return h("span", { class: "hc-cc" }, codePointName(code));
}

/** A line break is shown where it is, with a mark, since a long line wraps as well. */
function lines(text: string): (Node | string)[] {
  return text.split("\n").flatMap((line, i) => i === 0 ? [line] : [h("span", { class: "hc-nl", "aria-hidden": "true" }, "\u23ce"), "\n", line]);
}
