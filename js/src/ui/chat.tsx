/**
 * The whole chat: header, conversation, composer, and the list of chats beside or instead of the conversation.
 *
 * Preact draws the frame; the conversation is `Flow`'s, imperatively, one for each session that is shown (design §7).
 */
import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Locale } from "../i18n/translate";
import type { Announcer } from "./announce";
import { spoken } from "./announce";
import type { ChatState } from "./chat-state";
import { Composer } from "./composer";
import { Flow, type Pending } from "./flow";
import { Icon, type IconName } from "./icons";
import { SessionList } from "./session-list";

export interface ChatProps { readonly chat: ChatState; readonly locale: Locale; readonly announcer: Announcer }

export function Chat({ chat, locale, announcer }: ChatProps) {
  const { t } = locale;
  const frame = useRef<HTMLDivElement>(null);
  const list = chat.listOpen.value;
  const focus = (selector: string): void => {
    requestAnimationFrame(() => { frame.current?.querySelector<HTMLElement>(selector)?.focus(); });
  };
  const open = (sessionId: string | null): void => {
    chat.open(sessionId);
    focus(".hc-input");
  };
  const closeList = (): void => {
    chat.listOpen.value = false;
    focus(".hc-chats");
  };
  const send = (text: string): void => {
    void chat.send(text);
    focus(".hc-input");
  };
  const escaped = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !list) return;
    event.stopPropagation();
    closeList();
  };
  useSignalEffect(() => {
    if (chat.offline.value) announcer.say({ polite: t("sr.reconnect") });
  });

  return (
    <div ref={frame} class={list ? "hc-cols list" : "hc-cols"} role="region" aria-label={t("sr.region")} onKeyDown={escaped}>
      {list && (
        <nav class="hc-side" aria-label={t("top.sessions")}>
          <div class="hc-top">
            <IconButton icon="left" label={t("top.back")} press={closeList} />
            <span class="hc-title hc-grow hc-clip">{t("top.sessions")}</span>
            <IconButton icon="compose" label={t("top.new")} press={() => { open(null); }} />
          </div>
          <SessionList chat={chat} locale={locale} open={open} />
          <Problem chat={chat} locale={locale} />
        </nav>
      )}
      <div class="hc-main">
        <div class="hc-top">
          <IconButton
            class="hc-chats" icon="list" label={t("top.sessions")} expanded={list}
            press={() => { if (list) closeList(); else chat.listOpen.value = true; }}
          />
          <span class="hc-title hc-grow hc-clip" dir="auto">{chat.title.value || t("top.new")}</span>
          {chat.offline.value && <span class="hc-pill"><Icon name="spinner" class="hc-spin" />{t("badge.reconnect")}</span>}
          <IconButton icon="compose" label={t("top.new")} press={() => { open(null); }} />
        </div>
        {chat.pool.models.value?.tour && <div class="hc-banner" role="note"><Icon name="info" /><span class="hc-grow">{t("tour.banner")}</span></div>}
        <Conversation key={chat.opened.value} chat={chat} locale={locale} announcer={announcer} send={send} focus={focus} />
        <div class="hc-dock">
          {!list && <Problem chat={chat} locale={locale} />}
          {chat.finishing.value && <Finishing chat={chat} locale={locale} />}
          <Composer chat={chat} locale={locale} send={send} />
        </div>
      </div>
    </div>
  );
}

interface ConversationProps extends ChatProps { readonly send: (text: string) => void; readonly focus: (selector: string) => void }

function Conversation({ chat, locale, announcer, send, focus }: ConversationProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const session = chat.session.value;
  const pending = chat.pending.value;
  const empty = (!session || (session.view.value !== null && session.messages.value.length === 0)) && !pending;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const { pool } = chat;
    const flow = new Flow(element, {
      pool, locale,
      sessionId: () => chat.sessionId.peek() ?? "",
      actions: (runId) => ({
        answer: (clarifyId, answer) => pool.answer(runId, clarifyId, answer),
        approve: (approvalId, choice) => pool.approve(runId, approvalId, choice),
        send,
      }),
      changed: (before, after) => { announcer.say(spoken(before, after, locale)); },
      asked: (heading) => {
        const active = (heading.getRootNode() as Document | ShadowRoot).activeElement;
        if (active instanceof HTMLTextAreaElement && active.matches(".hc-input") && active.value === "") heading.focus();
      },
      answered: () => { focus(".hc-input"); },
    });
    let sent: Pending | null = chat.pending.peek();
    const stop = chat.watch((messages, next) => {
      flow.show(messages, next);
      if (next && next !== sent) flow.toNewest();
      sent = next;
    });
    return () => { stop(); flow.dispose(); };
  }, []);

  return (
    <div class="hc-scroll" ref={scroller} tabIndex={-1}>
      {session?.hasMore.value && (
        <button type="button" class="hc-b sm quiet hc-older" onClick={() => { void session.loadOlder(); }}>{locale.t("top.older")}</button>
      )}
      {empty && <Empty locale={locale} send={send} />}
      {session?.error.value && (
        <div class="hc-state bad hc-lost" role="alert">
          <Icon name="error" />
          <div class="hc-grow">
            {session.error.value.message}
            <div class="bt"><button type="button" class="hc-b sm" onClick={() => { void session.load(); }}><Icon name="retry" />{locale.t("st.retry")}</button></div>
          </div>
        </div>
      )}
    </div>
  );
}

const STARTS = ["empty.s1", "empty.s2", "empty.s3"] as const;

function Empty({ locale: { t }, send }: { locale: Locale; send: (text: string) => void }) {
  return (
    <div class="hc-empty">
      <h2>{t("empty.title")}</h2>
      <p>{t("empty.body")}</p>
      <div class="hc-sugs">
        {STARTS.map((key) => (
          <button key={key} type="button" class="hc-sug" onClick={() => { send(t(key)); }}><Icon name="send" /><span class="hc-grow">{t(key)}</span></button>
        ))}
      </div>
    </div>
  );
}

/** What failed here, or what keeps Hermes from working at all, in the server's words. */
function Problem({ chat, locale: { t } }: { chat: ChatState; locale: Locale }) {
  const failed = chat.problem.value;
  const words = failed ?? chat.pool.health.value?.problem?.message;
  if (!words) return null;
  return (
    <div class="hc-notice" role="alert">
      <Icon name="warn" />
      <span class="hc-grow">{words}</span>
      {failed !== null && <IconButton icon="cross" small label={t("nt.dismiss")} press={() => { chat.problem.value = null; }} />}
    </div>
  );
}

function Finishing({ chat, locale: { t } }: { chat: ChatState; locale: Locale }) {
  return (
    <div class="hc-notice" role="status">
      <Icon name="warn" />
      <span class="hc-grow">{t("nt.finishing")}</span>
      <button type="button" class="hc-b sm" onClick={() => { void chat.stop(true); }}>{t("nt.force")}</button>
    </div>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly class?: string;
  readonly small?: boolean;
  readonly expanded?: boolean;
  readonly press: () => void;
}

function IconButton({ icon, label, class: className = "", small = false, expanded, press }: IconButtonProps) {
  return (
    <button
      type="button" class={`hc-ib ${small ? "sm " : ""}${className}`} title={label} aria-label={label} aria-expanded={expanded} onClick={press}
    >
      <Icon name={icon} />
    </button>
  );
}
