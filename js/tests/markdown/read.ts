/** DOM read back for comparison. */

/** Elements as `<tag>…</tag>` with their texts; of attributes only what is asked for. */
export function outline(node: Node, attributes: readonly string[] = []): string {
  if (node instanceof Text) return node.data;
  const inner = [...node.childNodes].map((child) => outline(child, attributes)).join("");
  if (!(node instanceof Element)) return inner;
  const shown = attributes.flatMap((name) => (node.hasAttribute(name) ? [` ${name}=${node.getAttribute(name) ?? ""}`] : []));
  return `<${node.localName}${shown.join("")}>${inner}</${node.localName}>`;
}

/** Every element below `root`, in order. jsdom's own `querySelectorAll` is slow. */
export function elements(root: Element): Element[] {
  return [...root.getElementsByTagName("*")];
}

export function parsed(html: string): HTMLElement {
  const element = document.createElement("body");
  element.innerHTML = html; // eslint-disable-line no-restricted-properties
  return element;
}

/** `text` in pieces of `size` UTF-16 units. */
export function pieces(text: string, size: number): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length; at += size) out.push(text.slice(at, at + size));
  return out;
}
