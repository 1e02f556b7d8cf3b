/**
 * The module that the anywidget carries: it finds the core and mounts the whole chat.
 *
 * The server of this page is asked first; only where none answers (VS Code, Colab) the kernel sends the core, once a page.
 * `session` is the one trait that both sides write: which session is shown.
 */
import { fromServer, importCore, once, type Loaded } from "./shared";

interface Model {
  get(name: "session"): string | null;
  set(name: "session", value: string | null): void;
  save_changes(): void;
  send(content: object): void;
  on(event: string, listener: (value: { core?: string }) => void): void;
  off(event: string, listener: (value: { core?: string }) => void): void;
}

const PATIENCE = 15_000;

function fromKernel(model: Model): Promise<Loaded> {
  return new Promise((resolve, reject) => {
    const end = () => { clearTimeout(timer); model.off("msg:custom", listen); };
    const timer = setTimeout(() => { end(); reject(new Error("neither a Jupyter server nor the kernel answered")); }, PATIENCE);
    const listen = ({ core }: { core?: string }) => {
      if (!core) return;
      end();
      const url = URL.createObjectURL(new Blob([core], { type: "text/javascript" }));
      importCore(url).then(module => { resolve({ core: module, base: null }); }, reject).finally(() => { URL.revokeObjectURL(url); });
    };
    model.on("msg:custom", listen);
    model.send({ ask: "core" });
  });
}

function find(model: Model): Promise<Loaded> {
  const text = document.getElementById("jupyter-config-data")?.textContent;
  const base = text ? (JSON.parse(text) as { baseUrl?: string }).baseUrl : undefined;
  return base ? fromServer(base).catch(() => fromKernel(model)) : fromKernel(model);
}

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
  let loaded: Loaded;
  try {
    loaded = await once(() => find(model));
  } catch (error) {
    el.textContent = `Hermes: the chat could not be loaded: ${(error as Error).message}. Run this cell again.`;
    return () => undefined;
  }
  const { core, base } = loaded;
  if (base === null) return core.withoutServer(el);
  el.style.height = "560px";
  const view = core.mount(el, { pool: core.pool(base), sessionId: model.get("session") });
  const follow = () => { view.open(model.get("session")); };
  const forget = view.sessionId.subscribe(id => {
    if (id === model.get("session")) return;
    model.set("session", id);
    model.save_changes();
  });
  model.on("change:session", follow);
  return () => { forget(); model.off("change:session", follow); view.dispose(); };
}

export default { render };
