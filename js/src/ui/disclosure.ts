/**
 * One row of what Hermes did: 24 px, an icon, a line of text, a time; opens to its details where it has any.
 *
 * The details are built when the row is first opened and brought up to date while it is open, so that a thousand folded rows
 * cost a thousand lines and not their contents.
 */
import { h, setText } from "./dom";
import { icon, type IconName } from "./icons";

export interface Face {
  readonly icon: IconName;
  readonly tone?: "on" | "bad" | "";
  /** In the code font, never clipped: a tool's name. */
  readonly name?: string;
  readonly text: string;
  readonly time?: string;
  /** What the icon says, for a reader who does not see it. */
  readonly state?: string;
}

export class Disclosure {
  readonly element = h("div", { class: "hc-item" });
  private readonly row: HTMLElement;
  private readonly name = h("span", { class: "nm", hidden: true });
  private readonly text = h("span", { class: "hc-clip hc-grow" });
  private readonly state = h("span", { class: "hc-sr" });
  private readonly time = h("span", { class: "hc-time" });
  private picture: SVGSVGElement | null = null;
  private pictured = "";
  private body: HTMLElement | null = null;
  private opened = false;

  /** `details` makes the body, `toggled` follows each opening and closing; without details the row is only a line. */
  constructor(private readonly details: (() => HTMLElement) | null, private readonly toggled: () => void = () => undefined) {
    this.row = details
      ? h("button", { class: "hc-r", "aria-expanded": "false", onclick: () => { this.toggle(); } })
      : h("div", { class: "hc-r" });
    this.row.append(this.state, this.name, this.text, this.time);
    if (details) this.row.append(icon("right", "chev"));
    this.element.append(this.row);
  }

  get open(): boolean {
    return this.opened;
  }

  show(face: Face): void {
    const tone = face.tone ?? "";
    if (this.pictured !== face.icon + tone) {
      this.pictured = face.icon + tone;
      const next = icon(face.icon, tone === "on" ? "hc-acc" : "");
      if (this.picture) this.picture.replaceWith(next);
      else this.row.prepend(next);
      this.picture = next;
    }
    this.row.classList.toggle("on", tone === "on");
    this.row.classList.toggle("bad", tone === "bad");
    this.name.hidden = face.name === undefined;
    setText(this.name, face.name ?? "");
    setText(this.text, face.text);
    setText(this.state, face.state ? `${face.state}: ` : "");
    setText(this.time, face.time ?? "");
  }

  setTime(time: string): void {
    setText(this.time, time);
  }

  private toggle(): void {
    this.opened = !this.opened;
    this.row.setAttribute("aria-expanded", String(this.opened));
    if (this.opened && !this.body && this.details) this.element.append((this.body = this.details()));
    if (this.body) this.body.hidden = !this.opened;
    this.toggled();
  }
}
