/**
 * Server-Sent Events read from bytes (WHATWG HTML §9.2.6): frames of any split, CR, LF and CRLF, comments, several data lines.
 *
 * Only CR and LF end a line; U+2028 and the like are text. What an ended stream leaves unfinished is dropped, as the standard says.
 * `retry` is ignored: the pool has its own backoff.
 */
import type { ServerSentEvent } from "./contract";

export class EventParser {
  /** The beginning of a line whose end has not come. It is only ever added to, so that a long line in many pieces stays linear. */
  #begun = "";
  /** The last piece ended with CR: an LF that follows belongs to it. */
  #cr = false;
  #event = "";
  #data: string[] = [];
  #id: string | null = null;

  /** The frames that `text` completes. */
  push(text: string): ServerSentEvent[] {
    const frames: ServerSentEvent[] = [];
    if (text === "") return frames;
    const piece = this.#cr && text.startsWith("\n") ? text.slice(1) : text;
    this.#cr = text.endsWith("\r");
    let from = 0;
    for (const end of piece.matchAll(/\r\n?|\n/g)) {
      this.#line(this.#begun + piece.slice(from, end.index), frames);
      this.#begun = "";
      from = end.index + end[0].length;
    }
    this.#begun += piece.slice(from);
    return frames;
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
