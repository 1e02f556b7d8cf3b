/** One attempt at a time to send what a person chose: its card is shut meanwhile, and after a failure open again with the reason. */
import { h } from "./dom";

export class Attempt {
  readonly failure = h("div", { class: "hc-note bad", role: "alert", hidden: true });
  private busy = false;

  constructor(private readonly card: () => HTMLElement) {}

  async run(send: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.shut(true);
    try {
      await send();
    } catch (error) {
      this.shut(false);
      this.failure.textContent = sentence(error);
      this.failure.hidden = false;
    }
  }

  private shut(busy: boolean): void {
    this.busy = busy;
    this.failure.hidden = true;
    this.card().setAttribute("aria-busy", String(busy));
    for (const button of this.card().querySelectorAll("button")) button.disabled = busy;
  }
}

/** What to tell a person about a failure: the server's own sentence. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
