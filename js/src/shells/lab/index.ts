/**
 * The chat in JupyterLab's (and Notebook 7's) left sidebar, and the command that opens it.
 *
 * The panel mounts the core when it is first shown, so that a closed one costs nothing. Its session is kept in the
 * workspace's state, so a reload comes back to it.
 */
import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import { IStateDB } from "@jupyterlab/statedb";
import { ITranslator } from "@jupyterlab/translation";
import { LabIcon } from "@jupyterlab/ui-components";
import type { Message } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";

import type { MountedView } from "../../ui/contract";
import { shared } from "../shared";
import { couldNotLoad, loadCore } from "./load";
import { words } from "./words";

const OPEN = "hermes-chat:open";
const SESSION = "hermes-chat:session";

const icon = new LabIcon({
  name: "hermes-chat:chat",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke-width="1.35" stroke-linecap="round" stroke-linejoin="round">
<path class="jp-icon3" style="fill:none;stroke:var(--jp-inverse-layout-color3,#616161)" d="M2.5 3.5h11v8h-6l-3 2.5v-2.5h-2zM5.5 6l1.75 1.5L5.5 9M8.5 9H10"/></svg>`,
});

class ChatPanel extends Widget {
  private view: MountedView | null = null;
  private started = false;
  private wanted: string | null = null;

  constructor(private readonly state: IStateDB | null) {
    super();
    this.id = "hermes-chat";
    this.addClass("hermes-chat-panel");
  }

  open(session: string): void {
    this.wanted = session;
    this.view?.open(session);
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.isVisible) void this.start();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this.start();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.view?.focus();
  }

  override dispose(): void {
    this.view?.dispose();
    super.dispose();
  }

  private async start(): Promise<void> {
    if (this.started) return;
    this.started = true;
    try {
      const [{ core, base }, saved] = await Promise.all([loadCore(), this.state?.fetch(SESSION)]);
      if (this.isDisposed) return;
      this.node.replaceChildren();
      const sessionId = this.wanted ?? (typeof saved === "string" ? saved : null);
      this.view = core.mount(this.node, { pool: core.pool(base ?? PageConfig.getBaseUrl()), sessionId });
      this.view.sessionId.subscribe(session => void this.state?.save(SESSION, session));
    } catch (error) {
      this.started = false;
      this.node.textContent = couldNotLoad(error);
    }
  }
}

const panel: JupyterFrontEndPlugin<void> = {
  id: "jupyter-hermes-chat:panel",
  description: "The chat in the sidebar.",
  autoStart: true,
  optional: [ILayoutRestorer, ICommandPalette, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd, restorer: ILayoutRestorer | null, palette: ICommandPalette | null, state: IStateDB | null, translator: ITranslator | null,
  ) => {
    const say = words(translator?.languageCode ?? document.documentElement.lang);
    const chat = new ChatPanel(state);
    chat.title.icon = icon;
    chat.title.caption = say.title;
    chat.node.setAttribute("aria-label", say.title);
    app.shell.add(chat, "left", { rank: 500, type: "Hermes" });
    restorer?.add(chat, chat.id);

    app.commands.addCommand(OPEN, {
      label: say.open,
      icon,
      describedBy: { args: { type: "object", properties: { session: { type: "string", description: "The session to show" } } } },
      execute: args => {
        if (typeof args.session === "string") chat.open(args.session);
        app.shell.activateById(chat.id);
      },
    });
    palette?.addItem({ command: OPEN, category: "Hermes" });
    shared().openChat = session => void app.commands.execute(OPEN, { session });
  },
};

export default panel;
