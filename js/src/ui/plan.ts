/** The plan (zone 4): Hermes' list in Hermes' order, never re-sorted, with how far it is. */
import type { Locale } from "../i18n/translate";
import type { Todo } from "../protocol/types";
import { h, setText } from "./dom";
import { icon, type IconName } from "./icons";

const LOOKS: Record<Todo["status"], readonly [icon: IconName, className: string]> = {
  pending: ["ring", ""],
  in_progress: ["now", "now"],
  completed: ["tick", "done"],
  cancelled: ["dash", "drop"],
};

export class Plan {
  private readonly count = h("span", { class: "hc-time" });
  private readonly bar = h("i");
  private readonly progress = h("span", { class: "hc-prog", role: "progressbar", "aria-valuemin": 0 }, this.bar);
  private readonly list = h("ul");
  readonly element: HTMLElement;
  private shown: readonly Todo[] | null = null;

  constructor(private readonly locale: Locale) {
    const title = locale.t("todo.title");
    this.progress.setAttribute("aria-label", title);
    const head = h("div", { class: "h" }, icon("plan"), h("b", {}, title), this.count, h("span", { class: "hc-grow" }), this.progress);
    this.element = h("div", { class: "hc-todo", role: "group", "aria-label": title }, head, this.list);
  }

  show(todos: readonly Todo[]): void {
    if (todos === this.shown) return;
    this.shown = todos;
    const done = todos.filter((todo) => todo.status === "completed").length;
    setText(this.count, this.locale.t("todo.count", { a: done, b: todos.length }));
    this.progress.setAttribute("aria-valuenow", String(done));
    this.progress.setAttribute("aria-valuemax", String(todos.length));
    this.bar.style.inlineSize = `${todos.length ? (100 * done) / todos.length : 0}%`;
    this.list.replaceChildren(...todos.map((todo) => this.item(todo)));
  }

  private item(todo: Todo): HTMLElement {
    const [picture, className] = LOOKS[todo.status];
    const state = h("span", { class: "hc-sr" }, `${this.locale.t(`todo.${todo.status}`)}: `);
    return h("li", { class: className || null }, icon(picture), h("span", {}, state, todo.content));
  }
}
