/** Text of tools, commands and thoughts as a person can read it. Pure: strings in, strings out. */

// Escape sequences of a terminal: CSI (colours, cursor), OSC (titles, links), and the two-character ones.
// eslint-disable-next-line no-control-regex
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export function stripAnsi(text: string): string {
  return text.replace(ANSI, "").replace(/\r\n/g, "\n");
}

/** The result of a tool: JSON laid out, everything else as it is. */
export function resultText(result: string): string {
  const text = stripAnsi(result);
  if (!/^\s*[[{]/.test(text)) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text; // it only looked like JSON
  }
  return laidOut(value);
}

/** An object as `name: value` lines, text with line breaks as an indented block; anything else as indented JSON. */
export function laidOut(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value, null, 2);
  return Object.entries(value)
    .map(([name, item]) => {
      const text = typeof item === "string" ? stripAnsi(item) : JSON.stringify(item, null, 2);
      return text.includes("\n") ? `${name}:\n${text.replace(/^/gm, "  ")}` : `${name}: ${text}`;
    })
    .join("\n");
}

/** The last sentence that is complete; null before there is one. A finished text ends its last sentence by itself. */
export function lastSentence(text: string, finished: boolean): string | null {
  const pieces = text
    .slice(-2000)
    .split(/(?<=[.!?…]["')\]]?)\s+|(?<=[。！？])|\n+/)
    .map((piece) => piece.replace(/\*\*|`|^\s*(?:#+|[-*>])\s+/g, "").trim());
  const open = !finished && !/[.!?…。！？]["')\]]?\s*$|\n$/.test(text);
  if (open) pieces.pop();
  return pieces.findLast((piece) => piece !== "") ?? null;
}

/** What hides in a command: control, bidi and zero-width characters, and blanks that are not the usual ones. Line breaks show themselves. */
const HIDDEN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}|\p{Co}|\p{Variation_Selector}|\p{Default_Ignorable_Code_Point}|\u2800|(?! )\p{Zs}/u;

/** A command cut into what can be shown as it is, and single hidden characters as code points (R38). */
export function revealed(command: string): (string | { readonly code: number })[] {
  const pieces: (string | { readonly code: number })[] = [];
  let plain = "";
  for (const character of command) {
    if (character === "\n" || !HIDDEN.test(character)) {
      plain += character;
      continue;
    }
    if (plain) pieces.push(plain);
    plain = "";
    pieces.push({ code: character.codePointAt(0) ?? 0 });
  }
  if (plain) pieces.push(plain);
  return pieces;
}

export function codePointName(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The same as one string, for a line of text. */
export function revealedText(command: string): string {
  return revealed(command).map((piece) => (typeof piece === "string" ? piece : `[${codePointName(piece.code)}]`)).join("");
}
