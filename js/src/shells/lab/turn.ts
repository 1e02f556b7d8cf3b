/**
 * Renders `application/vnd.hermes-chat.turn+json`, the output of a `%%hermes` cell, live and finished (design §7).
 *
 * The bundle of a running turn names its run; the renderer streams it over HTTP, so it also lives on after a restart of the
 * kernel, and stores the finished turn in the output, so that the saved notebook is whole. It is `safe`, hence it renders in
 * untrusted notebooks too: there it only shows what is stored.
 */
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Widget } from "@lumino/widgets";

import type { FinalBundle, RenderedTurn, TurnBundle, TurnOptions } from "../../ui/contract";
import { shared } from "../shared";
import { couldNotLoad, loadCore } from "./load";

const MIME = "application/vnd.hermes-chat.turn+json";

class Turn extends Widget implements IRenderMime.IRenderer {
  private view: RenderedTurn | null = null;
  /** The newest one: each update of the output by the kernel comes with a model of its own. */
  private model: IRenderMime.IMimeModel | null = null;
  private trusted = false;

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    const bundle = model.data[MIME] as unknown as TurnBundle;
    let loaded;
    try {
      loaded = await loadCore();
    } catch (error) {
      const text = model.data["text/markdown"];
      this.node.textContent = `${couldNotLoad(error)}\n\n${typeof text === "string" ? text : ""}`;
      this.node.style.whiteSpace = "pre-wrap";
      return;
    }
    if (this.isDisposed) return;
    if (this.view && model.trusted === this.trusted) {
      this.view.update(bundle);
      return;
    }
    this.view?.dispose();
    this.trusted = model.trusted;
    const { core, base } = loaded;
    const save = (final: FinalBundle) => {
      const data = { ...this.model?.data, ...core.readable(final), [MIME]: final as unknown as IRenderMime.IMimeModel["data"][string] };
      this.model?.setData({ data });
    };
    const options: TurnOptions = { pool: base === null ? null : core.pool(base), trusted: model.trusted, save };
    const { openChat } = shared();
    this.view = core.renderTurn(this.node, bundle, openChat ? { ...options, openChat } : options);
  }

  override dispose(): void {
    this.view?.dispose();
    super.dispose();
  }
}

const extension: IRenderMime.IExtension = {
  id: "jupyter-hermes-chat:turn",
  description: "Renders a turn of a chat in a cell's output.",
  dataType: "json",
  rendererFactory: { safe: true, mimeTypes: [MIME], defaultRank: 10, createRenderer: () => new Turn() },
  rank: 10,
};

export default extension;
