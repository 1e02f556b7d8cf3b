/**
 * Server-Sent Events read from bytes (WHATWG HTML §9.2.6): frames of any split, CR, LF and CRLF, comments, several data lines.
 *
 * Only CR and LF end a line; U+2028 and the like are text. What an ended stream leaves unfinished is dropped, as the standard says.
 * `retry` is ignored: the pool has its own backoff.
 */
import type { ServerSentEvent } from "./contract";

export class EventParser {
  #rest = "";
  /** How much of `#rest` is known to hold no line end, so that a long line in many pieces is looked at once. */
  #seen = 0;
  #event = "";
  #data: string[] = [];
  #id: string | null = null;

  /** The frames that `text` completes. */
  push(text: string): ServerSentEvent[] {
    const frames: ServerSentEvent[] = [];
    this.#rest += text;
    let from = 0;
    for (let end = this.#lineEnd(this.#seen); end !== -1; end = this.#lineEnd(from)) {
      const cr = this.#rest.charAt(end) === "\r";
      // A CR at the very end may be half of a CRLF: wait for what follows.
      if (cr && end === this.#rest.length - 1) break;
      this.#line(this.#rest.slice(from, end), frames);
      from = end + (cr && this.#rest.charAt(end + 1) === "\n" ? 2 : 1);
    }
    this.#rest = this.#rest.slice(from);
    this.#seen = this.#rest.endsWith("\r") ? this.#rest.length - 1 : this.#rest.length;
    return frames;
  }

  #lineEnd(from: number): number {
    for (let i = from; i < this.#rest.length; i++) {
      const unit = this.#rest.charCodeAt(i);
      if (unit === 10 || unit === 13) return i;
    }
    return -1;
  }

  #line(line: string, frames: ServerSentEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) frames.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charAt(colon + 1) === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }
}

/**
 * Frames of a response's body until it ends. `onBytes` is called for every piece, comments included, so that silence can be told
 * from a quiet run. The body is cancelled when the reader stops early.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onBytes();
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    // An errored body cannot be cancelled any more; that it failed was already thrown by `read`.
    await reader.cancel().catch(() => undefined);
  }
}
