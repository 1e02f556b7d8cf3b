/**
 * Makes a live DOM subtree equal to a description of it, keeping every node that already fits.
 *
 * Streaming text only grows at its end, so position is the key. Text is changed behind the common prefix only, and so a reader's selection
 * in front of it survives. Nodes are made by name and attributes are set by name: no HTML string exists on this path (R63).
 */
export interface VElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Called only where the element is made or changed. */
  readonly children: () => readonly VNode[];
  /** An element with the same key as before is left alone with all that is in it. */
  readonly key?: string;
}
export type VNode = VElement | string;

const keys = new WeakMap<Element, string>();

/** Patches the children of `parent` from number `from` on; those before it are left alone. */
export function patch(parent: Element, children: readonly VNode[], from = 0): void {
  let node = from === 0 ? parent.firstChild : (parent.childNodes[from] ?? null);
  for (const child of children) {
    const next = node?.nextSibling ?? null;
    if (node === null) parent.append(build(child));
    else if (typeof child === "string" && node instanceof Text) write(node, child);
    else if (typeof child !== "string" && node instanceof Element && node.localName === child.tag) update(node, child);
    else parent.replaceChild(build(child), node);
    node = next;
  }
  while (node !== null) {
    const next = node.nextSibling;
    node.remove();
    node = next;
  }
}

function build(node: VNode): Node {
  if (typeof node === "string") return document.createTextNode(node);
  const element = document.createElement(node.tag);
  for (const [name, value] of Object.entries(node.attributes)) element.setAttribute(name, value);
  element.append(...node.children().map(build));
  if (node.key !== undefined) keys.set(element, node.key);
  return element;
}

function update(element: Element, node: VElement): void {
  if (node.key !== undefined && keys.get(element) === node.key) return;
  for (const [name, value] of Object.entries(node.attributes)) {
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  for (const name of element.getAttributeNames()) if (!(name in node.attributes)) element.removeAttribute(name);
  patch(element, node.children());
  if (node.key === undefined) keys.delete(element);
  else keys.set(element, node.key);
}

function write(node: Text, text: string): void {
  const old = node.data;
  if (old === text) return;
  let same = 0;
  while (same < old.length && same < text.length && old.charCodeAt(same) === text.charCodeAt(same)) same++;
  if (same === old.length) node.appendData(text.slice(same));
  else node.replaceData(same, old.length - same, text.slice(same));
}
