/**
 * What all shells of one page share, whatever loaded them: the promise of the one core. Its pools live
 * beside it (core/pool.ts).
 *
 * It lives on `globalThis`, since every anywidget instance is a module of its own. Whoever comes first loads the core; the
 * others, of another version perhaps, use what is there. This module is bundled into every shell, so it stays tiny.
 */
import type * as core from "./core";

export type Core = typeof core;

export interface Loaded {
  readonly core: Core;
  /** URL of the server that answered, with a slash at its end; null where the core came from the kernel. */
  readonly base: string | null;
}

export interface Shared {
  loaded?: Promise<Loaded> | undefined;
  /** Shows a session in the panel, where there is one. */
  openChat?: (sessionId: string) => void;
}

const KEY = Symbol.for("jupyter-hermes-chat");

export function shared(): Shared {
  const page = globalThis as unknown as Record<symbol, Shared | undefined>;
  return (page[KEY] ??= {});
}

/** Asks *base* for the name of its core and imports it by URL. Rejects where the extension is missing there. */
export async function fromServer(base: string): Promise<Loaded> {
  const root = new URL(base, location.href).href;
  const answer = await fetch(`${root}hermes/api/chat/health`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${root} answered ${answer.status}`);
  const { core } = (await answer.json()) as { core: string | null };
  if (!core) throw new Error(`${root} has no front end`);
  return { core: await importCore(`${root}hermes/static/${core}`), base: root };
}

export function importCore(url: string): Promise<Core> {
  return import(/* webpackIgnore: true */ url) as Promise<Core>;
}

/** One attempt for the whole page; a failed one does not stick, so that the next view tries again. */
export function once(load: () => Promise<Loaded>): Promise<Loaded> {
  const page = shared();
  if (page.loaded) return page.loaded;
  const attempt = load();
  page.loaded = attempt;
  attempt.catch(() => { if (page.loaded === attempt) page.loaded = undefined; });
  return attempt;
}
