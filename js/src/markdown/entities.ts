/**
 * Character references of HTML (`&amp;`, `&#x1F389;`), which CommonMark text may hold.
 *
 * The browser knows their names: a document of its own, which runs nothing and loads nothing, is asked once for each.
 */
const known = new Map<string, string>();

export function decode(text: string): string {
  return text.includes("&") ? text.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|\w+);/gi, character) : text;
}

function character(reference: string): string {
  let found = known.get(reference);
  if (found === undefined) {
    found = new DOMParser().parseFromString(reference, "text/html").body.textContent;
    known.set(reference, found);
  }
  return found;
}
