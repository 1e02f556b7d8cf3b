/** A run of the pool, shown at most once a frame: attached while it is shown, let go when it has ended or its view closes (R24). */
import { effect } from "@preact/signals";

import type { Pool } from "../core/contract";
import { ended, type TurnState } from "../protocol/reduce";
import { eachFrame } from "./dom";

export interface RunView {
  /** In a frame, for drawing; a hidden tab has no frames and draws when it is seen again. */
  show(state: TurnState): void;
  /** At once, for what must not wait for a frame: announcements, saving. */
  changed?(state: TurnState): void;
}

/** Until the returned function is called. `show` is first called in a frame: draw the first state yourself. */
export function followRun(pool: Pool, runId: string, view: RunView): () => void {
  const frames = eachFrame((state: TurnState) => { view.show(state); });
  let detach: (() => void) | null = pool.attach(runId);
  const letGo = (): void => {
    detach?.();
    detach = null;
  };
  const stop = effect(() => {
    const state = pool.run(runId).value;
    frames.push(state);
    view.changed?.(state);
    if (ended(state)) letGo();
  });
  return () => {
    stop();
    frames.cancel();
    letGo();
  };
}
