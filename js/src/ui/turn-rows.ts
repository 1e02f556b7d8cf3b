/**
 * Rows of the process: one for each part of a turn that is not its answer, its plan, or a question that waits.
 *
 * A row is made for a part's type and follows that part; parts keep their place, so rows do as well.
 */
import { MarkdownView } from "../markdown/stream";
import type {
  ActionPart, AnswerPart, ApprovalPart, ClarifyPart, CompactedPart, NoticePart, Part, SubagentPart, ThinkingPart, ToolPart, UnknownPart,
} from "../protocol/reduce";
import { Disclosure, type Face } from "./disclosure";
import { GrowingText, h } from "./dom";
import { markdownOptions } from "./markdown-options";
import { laidOut, lastSentence, resultText, revealedText } from "./readable";
import type { TurnContext } from "./turn-context";

/** `live` is whether this part still grows; `elapsed` how long the run has been going on (ms), null when that is not known or it has ended. */
export interface Moment { readonly live: boolean; readonly elapsed: number | null }

export interface Row {
  readonly element: HTMLElement;
  update(part: Part, moment: Moment): void;
  /** Once a second while the run goes on. */
  tick?(moment: Moment): void;
  dispose?(): void;
}

export function rowFor(part: Part, context: TurnContext): Row {
  switch (part.type) {
    case "thinking": return new ThinkingRow(context);
    case "answer": return new TextRow(context);
    case "tool": return new ToolRow(context);
    case "clarify": return new PartRow<ClarifyPart>(context, clarifyFace, null);
    case "approval": return new PartRow<ApprovalPart>(context, approvalFace, (part) => revealedText(part.command));
    case "action": return new PartRow<ActionPart>(context, actionFace, (part) => [laidOut(part.args), part.result ?? ""].join("\n"));
    case "subagent": return new PartRow<SubagentPart>(context, subagentFace, (part) => part.text);
    case "compacted": return new PartRow<CompactedPart>(context, compactedFace, (part) => part.summary);
    case "notice": return new PartRow<NoticePart>(context, noticeFace, null);
    case "unknown": return new PartRow<UnknownPart>(context, unknownFace, (part) => laidOut(part.fields));
  }
}

/** Folded: the last complete sentence, changed at most once a second. Unfolded: the tail while it grows, all of it later. */
class ThinkingRow implements Row {
  private readonly row: Disclosure;
  private part: ThinkingPart | null = null;
  private live = false;
  private sentence = "";
  private changedAt = -Infinity;
  private body: HTMLElement | null = null;
  private text: GrowingText | null = null;

  constructor(private readonly context: TurnContext) {
    this.row = new Disclosure(() => {
      this.body = h("div", { class: "hc-th" });
      this.text = new GrowingText(this.body.appendChild(h("div")));
      return this.body;
    }, () => { this.show(); });
  }

  get element(): HTMLElement {
    return this.row.element;
  }

  update(part: Part, moment: Moment): void {
    this.part = part as ThinkingPart;
    this.live = moment.live;
    this.show();
  }

  tick(): void {
    this.show();
  }

  private show(): void {
    const { part, context: { locale } } = this;
    if (!part) return;
    const now = performance.now();
    if (!this.live || now - this.changedAt >= 1000) {
      const next = lastSentence(part.text, !this.live) ?? "";
      if (next !== this.sentence) this.changedAt = now;
      this.sentence = next;
    }
    const text = this.row.open || !this.sentence ? locale.t("run.thinking") : this.sentence;
    this.row.show({ icon: "think", text, time: locale.duration(part.end - part.start) });
    this.body?.classList.toggle("live", this.live);
    if (this.row.open) this.text?.set(part.text.trim());
  }
}

/** Text that Hermes wrote before it went on working: its first line, unfolded as it was written. */
class TextRow implements Row {
  private readonly row: Disclosure;
  private part: AnswerPart | null = null;
  private markdown: MarkdownView | null = null;

  constructor(private readonly context: TurnContext) {
    this.row = new Disclosure(() => {
      const body = h("div", { class: "hc-th hc-md" });
      this.markdown = new MarkdownView(body, markdownOptions(this.context.locale));
      return body;
    }, () => { this.show(); });
  }

  get element(): HTMLElement {
    return this.row.element;
  }

  update(part: Part): void {
    this.part = part as AnswerPart;
    this.show();
  }

  dispose(): void {
    this.markdown?.dispose();
  }

  private show(): void {
    const text = this.part?.text.trim() ?? "";
    const first = text.split("\n", 1)[0]?.replace(/\*\*|`|^#+\s+/g, "") ?? "";
    this.row.show({ icon: "chat", text: this.row.open ? this.context.locale.t("run.wrote") : first });
    if (this.row.open) this.markdown?.finish(text);
  }
}

class ToolRow implements Row {
  private readonly row: Disclosure;
  private part: ToolPart | null = null;
  private filled: ToolPart | null = null;
  private body: HTMLElement | null = null;
  private whole = false;

  constructor(private readonly context: TurnContext) {
    this.row = new Disclosure(() => (this.body = h("div", { class: "hc-res" })), () => { this.fill(); });
  }

  get element(): HTMLElement {
    return this.row.element;
  }

  update(part: Part, moment: Moment): void {
    this.part = part as ToolPart;
    this.show(moment);
  }

  tick(moment: Moment): void {
    if (this.part?.status === "running") this.row.setTime(this.time(this.part, moment));
  }

  private show(moment: Moment): void {
    const { part, context: { locale } } = this;
    if (!part) return;
    const face = { name: part.tool, text: part.summary, time: this.time(part, moment) };
    if (part.status === "running") this.row.show({ ...face, icon: "now", tone: "on", state: locale.t("tool.running") });
    else if (part.status === "error") this.row.show({ ...face, icon: "cross", tone: "bad" });
    else this.row.show({ ...face, icon: "check" });
    if (this.row.open) this.fill();
  }

  private time(part: ToolPart, moment: Moment): string {
    const { locale } = this.context;
    if (part.status === "error") return locale.t("tool.failed");
    if (part.durationMs !== null) return locale.duration(part.durationMs);
    const running = moment.elapsed === null ? 0 : moment.elapsed - part.start;
    return part.status === "running" && running >= 1000 ? locale.duration(Math.floor(running / 1000) * 1000) : "";
  }

  private fill(): void {
    const { part, body, context: { locale } } = this;
    if (!part || !body || this.filled === part) return;
    this.filled = part;
    const args = Object.keys(part.args).length > 0 && h("pre", { class: "hc-pre args", "aria-label": locale.t("tool.args") }, laidOut(part.args));
    body.replaceChildren(...[args, ...this.result(part)].filter((node) => node !== false));
  }

  private result(part: ToolPart): (HTMLElement | false)[] {
    const { t } = this.context.locale;
    if (part.result === null) return [];
    const text = resultText(part.result).trimEnd();
    if (!text) return [h("span", { class: "hc-muted" }, t("tool.empty"))];
    const beginning = clipped(text);
    const pre = h("pre", { class: part.status === "error" ? "hc-pre err" : "hc-pre", "aria-label": t("tool.result") }, this.whole ? text : beginning);
    const more = !this.whole && beginning !== text && h("button", { class: "hc-link", onclick: () => {
      this.whole = true;
      pre.textContent = text;
      foot.remove();
    } }, t("tool.full"));
    const url = part.blob && this.context.blobUrl(part);
    const load = url !== null && h("a", { class: "hc-link", href: url, download: true }, t("tool.full"));
    const foot = h("div", { class: "foot" }, part.truncated && h("span", {}, t("tool.preview")), more, !more && load);
    return [pre, foot.hasChildNodes() && foot];
  }
}

/** At most twelve lines, and no more characters than fit there. */
function clipped(text: string): string {
  const lines = text.split("\n");
  const head = lines.slice(0, 12).join("\n").slice(0, 2400);
  return head.length < text.length ? `${head.trimEnd()}\n…` : text;
}

/** A row whose face and plain details are functions of the part. */
class PartRow<P extends Part> implements Row {
  private readonly row: Disclosure;
  private part: P | null = null;
  private body: HTMLElement | null = null;

  constructor(
    private readonly context: TurnContext,
    private readonly faceOf: (part: P, context: TurnContext) => Face,
    private readonly detailOf: ((part: P) => string) | null,
  ) {
    this.row = new Disclosure(detailOf && (() => {
      this.body = h("pre", { class: "hc-pre" });
      return h("div", { class: "hc-res" }, this.body);
    }), () => { this.fill(); });
  }

  get element(): HTMLElement {
    return this.row.element;
  }

  update(part: Part): void {
    this.part = part as P;
    this.row.show(this.faceOf(this.part, this.context));
    if (this.row.open) this.fill();
  }

  private fill(): void {
    if (this.part && this.body && this.detailOf) this.body.textContent = this.detailOf(this.part);
  }
}

function clarifyFace(part: ClarifyPart, { locale: { t } }: TurnContext): Face {
  return { icon: "ask", text: `${part.question} → ${part.answer ?? t("ask.none")}` };
}

function approvalFace(part: ApprovalPart, { locale: { t } }: TurnContext): Face {
  return { icon: "shield", text: revealedText(part.command), ...(part.choice && { time: t(`appr.${part.choice}`) }) };
}

function actionFace(part: ActionPart, { locale: { t } }: TurnContext): Face {
  const tones = { running: ["now", "on"], done: ["check", ""], error: ["cross", "bad"] } as const;
  const [picture, tone] = tones[part.status];
  return { icon: picture, tone, name: part.action, text: "", ...(part.status === "error" && { time: t("tool.failed") }) };
}

function subagentFace(part: SubagentPart, { locale: { t } }: TurnContext): Face {
  const tone = part.state === "failed" ? "bad" : part.state === "finished" ? "" : "on";
  return { icon: "branch", tone, text: part.goal ? `${t("run.subagent")} · ${part.goal}` : t("run.subagent"), ...(tone === "bad" && { time: t("tool.failed") }) };
}

function compactedFace(part: CompactedPart, { locale: { t } }: TurnContext): Face {
  return { icon: "compact", text: part.count ? t("div.compact", { n: part.count }) : t("div.compacted") };
}

function noticeFace(part: NoticePart): Face {
  return { icon: part.level === "info" ? "info" : "warn", text: part.text };
}

function unknownFace(part: UnknownPart): Face {
  return { icon: "info", name: part.kind, text: "" };
}
