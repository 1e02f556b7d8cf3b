/**
 * What was typed and not sent, by key: a session's id, or `clarify:<id>`.
 *
 * Drafts survive the view that they were typed in and, where the browser gives this tab a `sessionStorage`, a reload. They are
 * never sent anywhere. A storage that refuses (full, or forbidden in a sandbox) costs the reload only.
 */
const PREFIX = "jupyter-hermes-chat:draft:";

export class Drafts {
  readonly #texts = new Map<string, string>();
  readonly #storage: Storage | null;

  constructor(storage: Storage | null = tabStorage()) {
    this.#storage = storage;
  }

  get(key: string): string {
    return this.#texts.get(key) ?? this.#storage?.getItem(PREFIX + key) ?? "";
  }

  set(key: string, text: string): void {
    this.#texts.set(key, text);
    if (this.#storage === null) return;
    if (text === "") {
      this.#storage.removeItem(PREFIX + key);
      return;
    }
    try {
      this.#storage.setItem(PREFIX + key, text);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }
}

function tabStorage(): Storage | null {
  try {
    return typeof sessionStorage === "undefined" ? null : sessionStorage;
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
