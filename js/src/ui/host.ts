/**
 * The element that everything is drawn in: an open shadow root with our styles, quiet inside JupyterLab.
 *
 * - `data-lm-suppress-shortcuts` keeps Lab's shortcuts off the keys that are typed here; without stopping `beforeinput` Lab
 *   swallows Shift+Enter and undo inside a cell (design §7).
 * - `data-contrast="more"` follows Lab's high contrast theme; `prefers-contrast` and forced colours are the style sheet's.
 * - Colours are Lab's variables, which reach through the shadow root; the host only says whether the theme is dark, for what
 *   the browser draws itself.
 */
import { h } from "./dom";
import { adopt } from "./styles";

export interface Host {
  /** The root of the interface inside the shadow root. */
  readonly root: HTMLElement;
  readonly shadow: ShadowRoot;
  dispose(): void;
}

/** `className` says which of the two roots it is: `chat` fills its element, `cell` is as tall as its content. */
export function openHost(parent: HTMLElement, className: "chat" | "cell", language: string): Host {
  const host = h("div", { class: "jp-HermesChat", "data-lm-suppress-shortcuts": "true" });
  if (className === "chat") host.style.blockSize = "100%";
  const shadow = host.attachShadow({ mode: "open" });
  adopt(shadow);
  shadow.addEventListener("beforeinput", (event) => { event.stopPropagation(); });
  const root = h("div", { class: `hc ${className}`, lang: language });
  shadow.append(root);
  const follow = (): void => {
    const { jpThemeLight, jpThemeName } = document.body.dataset;
    root.toggleAttribute("data-contrast", false);
    if (/high.?contrast/i.test(jpThemeName ?? "")) root.dataset.contrast = "more";
    host.style.colorScheme = jpThemeLight === undefined ? "" : jpThemeLight === "true" ? "light" : "dark";
  };
  follow();
  const observer = new MutationObserver(follow);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name"] });
  parent.append(host);
  return {
    root,
    shadow,
    dispose() {
      observer.disconnect();
      host.remove();
    },
  };
}
