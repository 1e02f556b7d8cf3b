/** Nodes without a framework, for what grows while it is read: text never goes through vnodes (design §7). */

type Props = Readonly<Record<string, string | number | boolean | null | undefined | ((event: never) => void)>>;
export type Child = Node | string | null | false;

/** A new element. `on…` props are listeners; false, null and undefined leave an attribute out, true writes it empty. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (element instanceof HTMLButtonElement) element.type = "button";
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as (event: Event) => void);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== false));
  return element;
}

/** Writes only what changed, so that a selection in unchanged text stays. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Text that mostly grows: the known beginning stays the same text node. */
export class GrowingText {
  private readonly node = document.createTextNode("");

  constructor(parent: HTMLElement) {
    parent.append(this.node);
  }

  set(text: string): void {
    const known = this.node.data;
    if (text.length >= known.length && text.startsWith(known)) this.node.appendData(text.slice(known.length));
    else this.node.data = text;
  }
}

/** At most one call a frame, with the newest value. */
export function eachFrame<T>(show: (value: T) => void): { push(value: T): void; cancel(): void } {
  let frame = 0;
  let newest: T;
  return {
    push(value) {
      newest = value;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        show(newest);
      });
    },
    cancel() {
      cancelAnimationFrame(frame);
      frame = 0;
    },
  };
}

const MOTION = { duration: 160, easing: "cubic-bezier(.2, 0, 0, 1)" };

/**
 * Runs `change` (something above `anchor` folds) and keeps the top edge of `anchor` where the reader sees it: by scrolling
 * as far as `scroller` can, and where it cannot, by letting `moved` glide to their new place instead of jumping.
 */
export function keepEdge(anchor: Element, scroller: Element | null, moved: readonly Element[], change: () => void): void {
  const before = anchor.getBoundingClientRect().top;
  change();
  if (scroller) scroller.scrollTop += anchor.getBoundingClientRect().top - before;
  const off = before - anchor.getBoundingClientRect().top;
  if (Math.abs(off) < 1 || !("animate" in anchor) || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const element of moved) element.animate([{ transform: `translateY(${off}px)` }, { transform: "none" }], MOTION);
}

/** Copies and says so on the button for two seconds: in its words, or in its label where it has none. */
export async function copyText(text: string, button: HTMLElement, copied: string): Promise<void> {
  await toClipboard(text, button);
  const label = button.title || button.textContent;
  const show = (words: string): void => {
    if (button.title) button.title = words;
    else button.textContent = words;
    if (button.hasAttribute("aria-label")) button.setAttribute("aria-label", words);
  };
  if (label === copied) return;
  show(copied);
  setTimeout(() => { show(label); }, 2000);
}

/** Browsers give the clipboard to secure pages only, and many a Jupyter server is reached over plain HTTP. */
async function toClipboard(text: string, beside: HTMLElement): Promise<void> {
  if ("clipboard" in navigator) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = h("textarea", { class: "hc-sr", "aria-hidden": "true" });
  field.value = text;
  beside.after(field);
  field.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  document.execCommand("copy");
  field.remove();
  beside.focus();
}
