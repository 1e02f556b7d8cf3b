/** The page `hermes/chat[/{session}]`: the chat in the whole window, its address the session that is shown. */
import { importCore, once } from "./shared";

interface PageConfig { readonly baseUrl: string; readonly core: string }

function config(): PageConfig {
  const text = document.getElementById("jupyter-config-data")?.textContent;
  if (!text) throw new Error("the page has no configuration");
  return JSON.parse(text) as PageConfig;
}

/** The token did its work (the server has set a cookie); it shall not stay in the address bar and the history. */
function forgetToken(): void {
  const url = new URL(location.href);
  if (!url.searchParams.has("token")) return;
  url.searchParams.delete("token");
  history.replaceState(null, "", url);
}

async function start(element: HTMLElement): Promise<void> {
  const { baseUrl, core: name } = config();
  const base = new URL(baseUrl, location.href).href;
  const root = new URL(`${base}hermes/chat`).pathname;
  const shown = () => location.pathname.slice(root.length + 1) || null;
  const { core } = await once(async () => ({ core: await importCore(`${base}hermes/static/${name}`), base }));
  const view = core.mount(element, { pool: core.pool(base), sessionId: shown() });
  view.sessionId.subscribe(id => {
    if (id !== shown()) history.pushState(null, "", id ? `${root}/${id}` : root);
  });
  addEventListener("popstate", () => { view.open(shown()); });
  view.focus();
}

forgetToken();
const element = document.getElementById("hermes");
if (element) {
  start(element).catch((error: unknown) => {
    element.textContent = `Hermes: the chat could not be loaded: ${error instanceof Error ? error.message : String(error)}. Reload the page.`;
  });
}
