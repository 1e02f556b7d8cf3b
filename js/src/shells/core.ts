/**
 * What the core is to a shell: the module that every shell imports by its hashed URL (design §7).
 *
 * Only here do transport, pool and interface meet. The exported names are a contract with shells of other versions.
 */
import { version } from "../../package.json";
import type { Pool } from "../core/contract";
import { poolAt } from "../core/pool";
import { Locale, pageLanguage } from "../i18n/translate";
import type { FinalBundle } from "../ui/contract";

export { mount } from "../ui/mount";
export { renderTurn } from "../ui/turn-view";
export { version };

/** The page's pool for the server at *base*, its base URL. */
export function pool(base: string): Pool {
  return poolAt({ baseUrl: base });
}

/**
 * What a reader without this extension sees of a stored turn: the answer and how it ended. The kernel, where it is still
 * there at the end, writes more (export/markdown.py); this is for turns whose kernel is not.
 */
export function readable({ state }: FinalBundle): { "text/markdown": string; "text/plain": string } {
  const end = state.error ? `Failed: ${state.error.message}` : state.phase === "stopped" ? "Stopped." : "";
  const text = [state.text, end].filter(part => part !== "").join("\n\n");
  return { "text/markdown": text, "text/plain": text };
}

/** Where the kernel gave the core but no Jupyter server is in reach: says so. Returns how to take it away. */
export function withoutServer(element: HTMLElement): () => void {
  const note = document.createElement("p");
  note.textContent = new Locale(pageLanguage()).t("shell.noServer");
  element.append(note);
  return () => { note.remove(); };
}
