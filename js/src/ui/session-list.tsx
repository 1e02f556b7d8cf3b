/**
 * The chats, by latest activity: a spinner where one runs, a badge where one waits for a person (R33).
 *
 * One tab stop; arrows move, Enter opens, Delete asks and deletes. There is no undo yet, so deleting asks in the row itself.
 */
import { useEffect, useRef, useState } from "preact/hooks";

import { daysBetween, type Key, type Locale } from "../i18n/translate";
import type { SessionItem } from "../protocol/types";
import type { ChatState } from "./chat-state";
import { Icon } from "./icons";

export interface SessionListProps {
  readonly chat: ChatState;
  readonly locale: Locale;
  readonly open: (sessionId: string) => void;
}

export function SessionList({ chat, locale, open }: SessionListProps) {
  const { t } = locale;
  const items = chat.pool.sessions.value;
  const current = chat.sessionId.value;
  const [asking, setAsking] = useState<string | null>(null);
  const [at, setAt] = useState<string | null>(current);
  const list = useRef<HTMLDivElement>(null);
  const now = Date.now();
  const stop = items?.some((item) => item.session.id === at) ? at : (items?.[0]?.session.id ?? null);

  useEffect(() => { list.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus(); }, []);

  const pressed = (event: KeyboardEvent, item: SessionItem): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>(".hc-ses-open") ?? [])];
    const here = rows.indexOf(event.currentTarget as HTMLElement);
    const moves: Record<string, number> = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 };
    const to = moves[event.key];
    if (event.key === "Delete") setAsking(item.session.id);
    else if (to !== undefined) rows[Math.max(0, Math.min(to, rows.length - 1))]?.focus();
    else return;
    event.preventDefault();
  };

  if (items?.length === 0) return <p class="hc-none">{t("ses.none")}</p>;
  return (
    <div class="hc-list" ref={list}>
      {byDay(items ?? [], now).map(([day, rows]) => (
        <section key={day} aria-label={t(day)}>
          <h3 class="hc-day">{t(day)}</h3>
          <ul>
            {rows.map((item) => {
              const id = item.session.id;
              const title = item.session.title || t("top.new");
              return (
                <li key={id} class={id === current ? "hc-ses cur" : "hc-ses"} aria-current={id === current ? "true" : undefined}>
                  <button
                    type="button" class="hc-ses-open" tabIndex={id === stop ? 0 : -1} onFocus={() => { setAt(id); }}
                    onClick={() => { open(id); }} onKeyDown={(event) => { pressed(event, item); }}
                  >
                    <span class="t hc-clip">{title}</span>
                    <span class="p hc-clip">{item.lastMessagePreview}</span>
                  </button>
                  {asking === id
                    ? <Confirm locale={locale} keep={() => { setAsking(null); }} remove={() => { setAsking(null); void chat.remove(id); }} />
                    : <Mark item={item} locale={locale} now={now} remove={() => { setAsking(id); }} />}
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Mark({ item, locale, now, remove }: { item: SessionItem; locale: Locale; now: number; remove: () => void }) {
  const { t } = locale;
  return (
    <span class="m">
      {item.waitingForInput ? <span class="hc-pill ask"><Icon name="ask" /><span>{t("ses.waiting")}</span></span>
        : item.hasActiveRun ? <span role="img" aria-label={t("ses.running")} title={t("ses.running")}><Icon name="spinner" class="hc-spin" /></span>
          : <span class="hc-when">{locale.when(item.session.lastMessageAt ?? item.session.createdAt, now)}</span>}
      <button type="button" class="hc-ib sm hc-del" tabIndex={-1} title={t("ses.delete")} aria-label={t("ses.delete")} onClick={remove}>
        <Icon name="trash" />
      </button>
    </span>
  );
}

function Confirm({ locale: { t }, keep, remove }: { locale: Locale; keep: () => void; remove: () => void }) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => { first.current?.focus(); }, []);
  return (
    <span class="hc-confirm" role="group" aria-label={t("ses.confirm")} onKeyDown={(event) => { if (event.key === "Escape") { event.stopPropagation(); keep(); } }}>
      <span class="hc-grow">{t("ses.confirm")}</span>
      <button type="button" class="hc-b sm" onClick={remove}>{t("ses.delete")}</button>
      <button type="button" class="hc-b sm quiet" ref={first} onClick={keep}>{t("ses.keep")}</button>
    </span>
  );
}

function byDay(items: readonly SessionItem[], now: number): [Key, SessionItem[]][] {
  const groups = new Map<Key, SessionItem[]>();
  for (const item of items) {
    const days = daysBetween(item.session.lastMessageAt ?? item.session.createdAt, now);
    const day = days <= 0 ? "ses.today" : days === 1 ? "ses.yesterday" : days <= 7 ? "ses.week" : "ses.older";
    groups.set(day, [...(groups.get(day) ?? []), item]);
  }
  return [...groups];
}
