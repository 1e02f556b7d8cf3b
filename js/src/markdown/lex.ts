/**
 * Markdown read while it arrives: only the tail is lexed, closed blocks are frozen (design §7).
 *
 * The rule, which equals lexing the whole text on every CommonMark example: decide on complete lines; every top-level token before the
 * last one that is not blank is closed, but a link definition stays open while the next line may be its title. Definitions, also those
 * inside quotes and lists, are given to every later lex. A reference that came before its definition is set right by the final lex of
 * the whole text, which is the authority.
 */
import { Lexer, type MarkedToken, type Token } from "marked";

export type Links = Record<string, { href: string; title: string }>;

export interface Pushed {
  /** Blocks that are final but for references defined later. */
  readonly closed: readonly Token[];
  /** What may still change. */
  readonly open: readonly Token[];
}

export class TailLexer {
  readonly links: Links = Object.create(null) as Links;
  #tail = "";
  /** A CR at the end of a piece may be half of a CRLF. */
  #cr = "";

  /** Takes the next piece of the text. */
  push(delta: string): Pushed {
    let text = this.#cr + delta;
    this.#cr = text.endsWith("\r") ? "\r" : "";
    if (this.#cr) text = text.slice(0, -1);
    this.#tail += text.replace(/\r\n?/g, "\n");
    const closed = text.includes("\n") || text.includes("\r") ? this.#freeze() : [];
    return { closed, open: blocks(lex(this.#tail, this.links)) };
  }

  #freeze(): Token[] {
    const tokens = lex(this.#tail.slice(0, this.#tail.lastIndexOf("\n") + 1), this.links);
    const closed = tokens.slice(0, firstOpen(tokens));
    this.#tail = this.#tail.slice(closed.reduce((length, token) => length + token.raw.length, 0));
    collect(closed, this.links);
    return blocks(closed);
  }
}

/** The blocks of a whole text, and the definitions in it. */
export function lexWhole(text: string): { tokens: Token[]; links: Links } {
  const links = Object.create(null) as Links;
  const tokens = blocks(lex(text, links));
  collect(tokens, links);
  return { tokens, links };
}

/** Nesting that no person writes (thousands of quotes in one line) exhausts the stack of a recursive lexer: such text stays text. */
export function lex(text: string, links: Links): Token[] {
  const lexer = new Lexer({ gfm: true, breaks: false });
  Object.assign(lexer.tokens.links, links);
  try {
    return lexer.lex(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ type: "paragraph", raw: text, text, tokens: [{ type: "escape", raw: text, text }] }];
  }
}

function blocks(tokens: readonly Token[]): Token[] {
  return tokens.filter((token) => token.type !== "space");
}

function firstOpen(tokens: readonly Token[]): number {
  let at = tokens.length - 1;
  while (at > 0 && tokens[at]?.type === "space") at--;
  while (at > 0 && tokens[at - 1]?.type === "def" && tokens[at]?.type === "paragraph" && /^ *["'(]/.test(tokens[at]?.raw ?? "")) at--;
  return Math.max(at, 0);
}

function collect(tokens: readonly Token[], links: Links): void {
  for (const token of tokens as readonly MarkedToken[]) {
    if (token.type === "def" && !(token.tag in links)) links[token.tag] = { href: token.href, title: token.title };
    else if (token.type === "blockquote") collect(token.tokens, links);
    else if (token.type === "list") for (const item of token.items) collect(item.tokens, links);
  }
}
