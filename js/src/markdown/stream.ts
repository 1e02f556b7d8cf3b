/**
 * Markdown in an element, while it arrives and when it is whole.
 *
 * `set` takes the text as it grows and draws it with the next frame; `finish` draws it exactly as one parse of the whole gives it, at once,
 * keeping every node that already fits. Drawing is guarded: the next frame is not used before twice the cost of the last has passed, so that
 * one huge block slows the drawing down and never the page. In a hidden tab there are no frames, and so no work.
 */
import { lexWhole, TailLexer } from "./lex";
import { LABELS, type MarkdownLabels, type NodeContext, nodes } from "./nodes";
import { patch } from "./patch";

export interface MarkdownOptions {
  readonly labels?: MarkdownLabels;
  /** What relative links are relative to: the page, unless said otherwise. */
  readonly base?: string;
  /** Takes the text of a code block whose copy button was pressed; by default it goes to the clipboard. */
  readonly copy?: (code: string, button: HTMLElement) => void;
  /** Calls back once, when it is time to draw; gives a number by which `cancelFrame` takes it back. */
  readonly frame?: (draw: () => void) => number;
  readonly cancelFrame?: (frame: number) => void;
}

export class MarkdownView {
  readonly #options: Required<MarkdownOptions>;
  readonly #allowed = new Set<string>();
  readonly #click = (event: Event) => { this.#pressed(event); };
  #text = "";
  #drawn = "";
  #whole = false;
  #lexer = new TailLexer();
  /** How many child nodes are final but for late references. */
  #frozen = 0;
  #frame: number | null = null;
  #rest = 0;

  constructor(readonly element: HTMLElement, options: MarkdownOptions = {}) {
    this.#options = {
      labels: LABELS,
      base: document.baseURI,
      copy: (code) => { void navigator.clipboard.writeText(code); },
      frame: (draw) => requestAnimationFrame(draw),
      cancelFrame: (frame) => { cancelAnimationFrame(frame); },
      ...options,
    };
    element.addEventListener("click", this.#click);
  }

  /** The text so far. One that does not continue what was set before is drawn anew. */
  set(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#whole = false;
    this.#frame ??= this.#options.frame(this.#turn);
  }

  /** The whole text. */
  finish(text: string): void {
    if (this.#whole && text === this.#text) return;
    this.#text = text;
    this.#whole = true;
    this.#drawWhole();
  }

  dispose(): void {
    this.#stopWaiting();
    this.element.removeEventListener("click", this.#click);
  }

  readonly #turn = (): void => {
    this.#frame = null;
    const began = performance.now();
    if (began < this.#rest) {
      this.#frame = this.#options.frame(this.#turn);
      return;
    }
    this.#drawTail();
    const done = performance.now();
    this.#rest = done + 2 * (done - began);
  };

  #drawTail(): void {
    if (!this.#text.startsWith(this.#drawn)) this.#begin();
    const links = Object.keys(this.#lexer.links).length;
    const { closed, open } = this.#lexer.push(this.#text.slice(this.#drawn.length));
    this.#drawn = this.#text;
    const context = this.#context(`${links}`);
    const final = nodes(closed, context);
    patch(this.element, [...final, ...nodes(open, context)], this.#frozen);
    this.#frozen += final.length;
  }

  #drawWhole(): void {
    this.#stopWaiting();
    this.#begin();
    patch(this.element, nodes(lexWhole(this.#text).tokens, this.#context("whole")));
  }

  #begin(): void {
    this.#lexer = new TailLexer();
    this.#frozen = 0;
    this.#drawn = "";
  }

  #stopWaiting(): void {
    if (this.#frame !== null) this.#options.cancelFrame(this.#frame);
    this.#frame = null;
  }

  #context(generation: string): NodeContext {
    return {
      labels: this.#options.labels,
      base: this.#options.base,
      allowed: (src) => this.#allowed.has(src),
      generation: `${generation}.${this.#allowed.size}`,
    };
  }

  #pressed(event: Event): void {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("button[data-md]") : null;
    if (button?.dataset["md"] === "copy") {
      this.#options.copy(button.closest(".md-code")?.querySelector("code")?.textContent ?? "", button);
    } else if (button?.dataset["md"] === "image" && button.dataset["src"] !== undefined) {
      this.#allowed.add(button.dataset["src"]);
      if (this.#whole) {
        this.#drawWhole();
      } else {
        this.#begin();
        this.#drawTail();
      }
    }
  }
}
