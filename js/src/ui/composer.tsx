/**
 * The composer: text that grows, model and skill, stop and send.
 *
 * Enter sends, Shift+Enter is a new line, and no key of an input method is taken. What is typed is the draft of this chat at
 * once, so that neither a view that closes nor a refused message costs it. While a run goes on Stop stands beside the send
 * slot, which keeps its place and says why it rests.
 */
import { useComputed, useSignalEffect } from "@preact/signals";
import { useRef, useState } from "preact/hooks";

import type { Locale } from "../i18n/translate";
import { composing } from "./ask";
import type { ChatState } from "./chat-state";
import { Icon } from "./icons";
import { Select } from "./select";

export interface ComposerProps {
  readonly chat: ChatState;
  readonly locale: Locale;
  readonly send: (text: string) => void;
}

export function Composer({ chat, locale, send }: ComposerProps) {
  const { t } = locale;
  const text = chat.draft.value;
  const field = useRef<HTMLTextAreaElement>(null);
  const busy = chat.busy.value;
  const offline = chat.offline.value;
  const running = chat.activeRunId.value !== null;
  const sendable = !busy && text.trim() !== "";

  useSignalEffect(() => {
    if (field.current) grow(field.current, chat.draft.value);
  });
  const submit = (): void => {
    if (sendable) send(text);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || composing(event)) return;
    event.preventDefault();
    submit();
  };

  return (
    <>
      <div class="hc-comp">
        <textarea
          ref={field} class="hc-input" rows={1} aria-label={t("comp.label")} value={text} onKeyDown={pressed}
          placeholder={t(offline ? "comp.ph.off" : busy ? "comp.ph.busy" : "comp.ph")}
          onInput={(event) => { chat.write(event.currentTarget.value); }}
        />
        <div class="hc-bar">
          <ModelSelect chat={chat} locale={locale} />
          <SkillSelect chat={chat} locale={locale} />
          <span class="hc-grow" />
          {running && <StopButton chat={chat} locale={locale} />}
          <button
            type="button" class="hc-send" disabled={!sendable} title={t(busy ? "comp.busy" : "comp.send")}
            aria-label={t(busy ? "comp.busy" : "comp.send")} onClick={submit}
          >
            <Icon name="send" />
          </button>
        </div>
      </div>
      <div class="hc-hint">{t(offline ? "hint.off" : busy ? "comp.busy" : "hint.idle")}</div>
    </>
  );
}

function StopButton({ chat, locale: { t } }: { chat: ChatState; locale: Locale }) {
  const [stopping, setStopping] = useState(false);
  const stop = (): void => {
    setStopping(true);
    void chat.stop().finally(() => { setStopping(false); });
  };
  const label = t(stopping ? "run.stopping" : "comp.stop");
  return (
    <button type="button" class="hc-ib hc-stop" disabled={stopping} title={label} aria-label={label} onClick={stop}>
      {stopping ? <Icon name="spinner" class="hc-spin" /> : <Icon name="stop" />}
    </button>
  );
}

function ModelSelect({ chat, locale }: { chat: ChatState; locale: Locale }) {
  const { t } = locale;
  const options = useComputed(() => [
    { value: null, label: t("comp.model"), note: t("model.default") },
    ...(chat.pool.models.value?.models ?? []).map((model) => ({
      value: model.id,
      label: model.name === model.model ? model.name : `${model.name} (${model.model})`,
      note: model.contextLength === null ? "" : locale.compact(model.contextLength),
    })),
  ]).value;
  const value = chat.modelId.value;
  const name = options.find((option) => option.value === value)?.label ?? value ?? "";
  return (
    <Select
      options={options} value={value} label={t("comp.model.label", { name })} searchLabel={t("model.search")}
      choose={(id) => { chat.chooseModel(id); }}
    />
  );
}

function SkillSelect({ chat, locale: { t } }: { chat: ChatState; locale: Locale }) {
  const options = useComputed(() => [
    { value: null, label: t("comp.skill"), note: t("skill.default") },
    ...(chat.pool.skills.value?.skills ?? []).map((skill) => ({ value: skill.folder, label: skill.name, note: skill.description })),
  ]).value;
  const value = chat.skillFolder.value;
  const name = options.find((option) => option.value === value)?.label ?? value ?? "";
  return (
    <Select
      class="sk" options={options} value={value} label={t("comp.skill.label", { name })} searchLabel={t("skill.search")}
      choose={(folder) => { chat.chooseSkill(folder); }}
    />
  );
}

/** As tall as its text; the style sheet says how tall at most. */
function grow(field: HTMLTextAreaElement, value: string): void {
  if (field.value !== value) field.value = value;
  field.style.blockSize = "auto";
  if (field.scrollHeight) field.style.blockSize = `${field.scrollHeight}px`;
}
