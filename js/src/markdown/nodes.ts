/**
 * Tokens of Markdown → descriptions of DOM nodes, by an allow-list (R63).
 *
 * A token that is not listed shows its source as text, and so does raw HTML (but for a line break). Nothing that is made here loads anything
 * by itself: a remote image is a button that names its host until the reader allows it. Classes begin with `md-`; a button says by
 * `data-md` what it does, and `stream.ts` listens for it.
 */
import type { MarkedToken, Token, Tokens } from "marked";
import { decode } from "./entities";
import { target } from "./links";
import type { VElement, VNode } from "./patch";

export interface MarkdownLabels {
  readonly copy: string;
  loadImage(host: string): string;
  /** Where a link leads that hides it: a host, or a path of this server. */
  leadsTo(where: string): string;
  /** The name of a task's box, which stands before the task's words. */
  task(done: boolean): string;
}

export const LABELS: MarkdownLabels = {
  copy: "Copy",
  loadImage: (host) => `Load image from ${host}`,
  leadsTo: (where) => `(${where})`,
  task: (done) => (done ? "Done" : "To do"),
};

export interface NodeContext {
  readonly labels: MarkdownLabels;
  /** What relative links are relative to. */
  readonly base: string;
  /** Whether the reader has asked for the image at this address. */
  allowed(src: string): boolean;
  /** Changes whenever equal source may give other nodes (a new link definition, an allowed image). */
  readonly generation: string;
}

/** Deeper than any person writes; a page that nests further stops being laid out. */
const DEEPEST = 40;

export function nodes(tokens: readonly Token[], context: NodeContext): VNode[] {
  return tokens.flatMap((token) => block(token as MarkedToken, context, 0));
}

function element(tag: string, attributes: Record<string, string>, children: readonly VNode[] | (() => readonly VNode[]), key?: string): VElement {
  const made = { tag, attributes, children: typeof children === "function" ? children : () => children };
  return key === undefined ? made : { ...made, key };
}

function block(token: MarkedToken, context: NodeContext, depth: number): VNode[] {
  if (depth > DEEPEST) return [element("p", {}, [token.raw])];
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return [];
    case "heading":
      return [element(`h${token.depth}`, {}, inlines(token.tokens, context, depth))];
    case "paragraph":
      return [element("p", {}, inlines(token.tokens, context, depth))];
    case "text":
      return token.tokens === undefined ? [decode(token.text)] : inlines(token.tokens, context, depth);
    case "hr":
      return [element("hr", {}, [])];
    case "blockquote":
      return [element("blockquote", {}, token.tokens.flatMap((t) => block(t as MarkedToken, context, depth + 1)))];
    case "code":
      return [code(token, context)];
    case "list":
      return [list(token, context, depth)];
    case "table":
      return [table(token, context, depth)];
    case "html":
      return [element("p", { class: "md-html" }, [token.raw.replace(/\n+$/, "")])];
    default:
      return [element("p", {}, [token.raw])];
  }
}

function code(token: Tokens.Code, { labels }: NodeContext): VElement {
  const language = /^\S*/.exec(decode(token.lang ?? ""))?.[0] ?? "";
  return element("div", { class: "md-code" }, [
    element("div", { class: "md-code-head" }, [
      element("span", { class: "md-code-language" }, [language]),
      element("button", { type: "button", class: "md-copy", "data-md": "copy" }, [labels.copy]),
    ]),
    element("pre", { class: "md-scroll", tabindex: "0" }, [
      element("code", language === "" ? {} : { class: `language-${language}` }, [`${token.text.replace(/\n$/, "")}\n`]),
    ]),
  ]);
}

function list(token: Tokens.List, context: NodeContext, depth: number): VElement {
  const start: Record<string, string> = token.ordered && token.start !== 1 ? { start: String(token.start) } : {};
  return element(token.ordered ? "ol" : "ul", start, token.items.map((item) => {
    const attributes: Record<string, string> = item.task ? { class: "md-task" } : {};
    const children = () => {
      const shown = joined(item.tokens.flatMap((t) => block(t as MarkedToken, context, depth + 1)));
      return item.task ? [checkbox(item.checked ?? false, context.labels), ...shown] : shown;
    };
    return element("li", attributes, children, `${context.generation}:${item.loose ? "loose" : "tight"}:${item.raw}`);
  }));
}

function checkbox(checked: boolean, labels: MarkdownLabels): VElement {
  return element("input", { type: "checkbox", disabled: "", "aria-label": labels.task(checked), ...(checked ? { checked: "" } : {}) }, []);
}

function table(token: Tokens.Table, context: NodeContext, depth: number): VElement {
  const row = (tag: "th" | "td", cells: readonly Tokens.TableCell[]) =>
    cells.map((cell) => element(tag, cell.align === null ? {} : { class: `md-${cell.align}` }, inlines(cell.tokens, context, depth)));
  const rows = token.rows.map((cells) =>
    element("tr", {}, () => row("td", cells), `${context.generation}:${cells.map((cell) => cell.text).join("|")}`));
  return element("div", { class: "md-table md-scroll", tabindex: "0" }, [
    element("table", {}, [
      element("thead", {}, [element("tr", {}, row("th", token.header))]),
      ...(rows.length > 0 ? [element("tbody", {}, rows)] : []),
    ]),
  ]);
}

function inlines(tokens: readonly Token[], context: NodeContext, depth: number): VNode[] {
  return joined(tokens.flatMap((token) => inline(token as MarkedToken, context, depth + 1)));
}

function inline(token: MarkedToken, context: NodeContext, depth: number): VNode[] {
  if (depth > DEEPEST) return [token.raw];
  switch (token.type) {
    case "checkbox":
      return [];
    case "text":
      return token.tokens === undefined ? [decode(token.text)] : inlines(token.tokens, context, depth);
    case "escape":
      return [token.text];
    case "strong":
    case "em":
    case "del":
      return [element(token.type, {}, inlines(token.tokens, context, depth))];
    case "codespan":
      return [element("code", {}, [token.text])];
    case "br":
      return [element("br", {}, [])];
    case "link":
      return link(token, inlines(token.tokens, context, depth), context);
    case "image":
      return image(token, context);
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? [element("br", {}, [])] : [token.raw];
    default:
      return [token.raw];
  }
}

function link(token: Pick<Tokens.Link, "href" | "title">, shown: readonly VNode[], { labels, base }: NodeContext): VNode[] {
  const to = target(decode(token.href), base);
  if (to.kind === "blocked") return [...shown];
  const title = token.title ? `${decode(token.title)}\n${to.href}` : to.href;
  const attributes = { href: to.href, title, target: "_blank", rel: "noopener noreferrer nofollow" };
  const where = to.kind === "here" ? to.path : to.kind === "remote" && to.hidden ? to.host : null;
  const label = where === null ? [] : [element("span", { class: "md-where" }, [` ${labels.leadsTo(where)}`])];
  return [element("a", attributes, [...shown, ...label])];
}

function image(token: Tokens.Image, context: NodeContext): VNode[] {
  const to = target(decode(token.href), context.base);
  const text = decode(token.text);
  // On this server it is a link like any other: loading it would be a request in the reader's name.
  if (to.kind === "here") return link(token, [text || to.path], context);
  if (to.kind !== "remote") return [text];
  if (context.allowed(to.href)) {
    return [element("img", { class: "md-image", src: to.href, alt: text, title: to.href, referrerpolicy: "no-referrer" }, [])];
  }
  return [
    element("button", { type: "button", class: "md-load-image", "data-md": "image", "data-src": to.href, title: to.href }, [
      ...(text === "" ? [] : [`${text} · `]), context.labels.loadImage(to.host),
    ]),
  ];
}

/** Adjacent texts are one node in the DOM, so they are one here. */
function joined(children: readonly VNode[]): VNode[] {
  const out: VNode[] = [];
  for (const child of children) {
    const last = out.at(-1);
    if (typeof child === "string" && typeof last === "string") out[out.length - 1] = last + child;
    else if (child !== "") out.push(child);
  }
  return out;
}
