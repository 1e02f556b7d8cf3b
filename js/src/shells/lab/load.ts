/** How the plugins reach the one core: by the same hashed URL as every other shell, so that it is never bundled here. */
import { PageConfig } from "@jupyterlab/coreutils";

import { fromServer, once, type Loaded } from "../shared";

export const loadCore = (): Promise<Loaded> => once(() => fromServer(PageConfig.getBaseUrl()));

/** What stands in an element whose core did not come: what happened and what to do. */
export function couldNotLoad(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `Hermes: the chat could not be loaded (${reason}). Check that the server extension is enabled: jupyter server extension list`;
}
