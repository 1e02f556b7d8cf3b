/**
 * What a shell sees of the interface: two functions, each of which fills an element and gives back a handle.
 *
 * `mount` (./mount.tsx) is the whole chat: sidebar, page, anywidget. It fills the height of its element, so a shell that
 * has none gives one (`element.style.height`). `renderTurn` (./turn-view.ts) is one turn without a composer, as tall as
 * its text: a cell's output. Both make an open shadow root on a host of their own inside the element, and neither stops a
 * run when it is disposed (R24).
 */
import type { ReadonlySignal } from "@preact/signals";

import type { Pool } from "../core/contract";
import type { TurnState } from "../protocol/reduce";

export interface MountOptions {
  readonly pool: Pool;
  /** The session that is open at first; null or absent: a new chat, which becomes a session with its first message. */
  readonly sessionId?: string | null;
}

export interface MountedView {
  /** The session that is shown, null for a new chat: for the shell's title, address or saved state. */
  readonly sessionId: ReadonlySignal<string | null>;
  open(sessionId: string | null): void;
  /** Puts the focus into the composer. */
  focus(): void;
  dispose(): void;
}

/** `application/vnd.hermes-chat.turn+json` (design §7). */
export type TurnBundle = LiveBundle | FinalBundle;
export interface LiveBundle { readonly version: 1; readonly run: string; readonly session: string; readonly live: true }
export interface FinalBundle {
  readonly version: 1; readonly run: string; readonly session: string; readonly live: false; readonly state: TurnState;
}

export interface TurnOptions {
  /** null: no server in reach; a live bundle then says so. */
  readonly pool: Pool | null;
  /** In an untrusted notebook nothing is loaded, streamed or saved. */
  readonly trusted: boolean;
  /** Called once, with the final bundle, when a live run has ended. */
  readonly save?: (bundle: FinalBundle) => void;
  /** Shows the session in the chat panel, where there is one. */
  readonly openChat?: (sessionId: string) => void;
}

export interface RenderedTurn {
  /** A changed bundle for the same output: live → final keeps the nodes (no jump). */
  update(bundle: TurnBundle): void;
  dispose(): void;
}
