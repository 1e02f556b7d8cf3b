/** The whole chat in an element: see ./contract.ts. */
import { render } from "preact";

import { Locale, pageLanguage } from "../i18n/translate";
import { Announcer } from "./announce";
import { Chat } from "./chat";
import { ChatState } from "./chat-state";
import type { MountedView, MountOptions } from "./contract";
import { openHost } from "./host";

export function mount(element: HTMLElement, { pool, sessionId = null }: MountOptions): MountedView {
  const locale = new Locale(pageLanguage());
  const host = openHost(element, "chat", locale.language);
  const announcer = new Announcer();
  const frame = document.createElement("div");
  frame.className = "hc-frame";
  host.root.append(frame, announcer.element);
  const chat = new ChatState(pool, sessionId);
  render(<Chat chat={chat} locale={locale} announcer={announcer} />, frame);
  return {
    sessionId: chat.sessionId,
    open: (id) => { chat.open(id); },
    focus: () => { host.shadow.querySelector<HTMLElement>(".hc-input")?.focus(); },
    dispose() {
      render(null, frame);
      host.dispose();
    },
  };
}
