/** Turns without a chat around them, and what tests ask of the page. */
import { Locale } from "../../src/i18n/translate";
import type { TurnState } from "../../src/protocol/reduce";
import { Turn } from "../../src/ui/turn";
import type { TurnActions, TurnContext } from "../../src/ui/turn-context";

export const locale = new Locale("en");

export function context(more: Partial<TurnContext> = {}): TurnContext {
  const drafts = new Map<string, string>();
  return {
    locale, actions: null, scroller: null,
    draft: (key) => drafts.get(key) ?? "",
    setDraft: (key, text) => { drafts.set(key, text); },
    blobUrl: () => null, following: () => true, answered: () => undefined, ...more,
  };
}

/** Actions that are remembered, and refused where a test says so. */
export function actions(more: Partial<TurnActions> = {}): TurnActions & { readonly taken: unknown[][] } {
  const taken: unknown[][] = [];
  return {
    taken,
    answer: (...args) => { taken.push(["answer", ...args]); return Promise.resolve(); },
    approve: (...args) => { taken.push(["approve", ...args]); return Promise.resolve(); },
    ...more,
  };
}

export function shown(state: TurnState, more: Partial<TurnContext> = {}): Turn {
  const turn = new Turn(context(more), state);
  document.body.append(turn.element);
  return turn;
}

export function all(root: ParentNode, selector: string): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(selector)];
}

/** The one element; a test that expects it fails where there is none or more than one. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function one<E extends HTMLElement = HTMLElement>(root: ParentNode, selector: string): E {
  const [first, ...others] = root.querySelectorAll<E>(selector);
  if (!first || others.length > 0) throw new Error(`${first ? others.length + 1 : "no"} elements for ${selector}`);
  return first;
}

/** Text that a reader sees: without what is hidden or only spoken. */
export function visible(root: Element): string {
  if (root.matches("[hidden], .hc-sr")) return "";
  return [...root.childNodes].map((node) => (node instanceof Element ? visible(node) : (node.textContent ?? ""))).join("");
}

/** For comparing two trees of nodes. */
export function html(root: Element): string {
  return root.outerHTML; // eslint-disable-line no-restricted-properties
}

export function press(element: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true, ...more });
  element.dispatchEvent(event);
  return event;
}

export function type(element: HTMLTextAreaElement | HTMLInputElement, text: string): void {
  element.value = text;
  element.dispatchEvent(new Event("input", { bubbles: true }));
}
