/** Words and deeds of Markdown in this interface. */
import type { Locale } from "../i18n/translate";
import type { MarkdownOptions } from "../markdown/stream";
import { copyText } from "./dom";

export function markdownOptions({ t }: Locale): MarkdownOptions {
  return {
    labels: {
      copy: t("act.copy"),
      loadImage: (host) => t("md.image", { host }),
      leadsTo: (where) => t("md.leads", { where }),
      task: (done) => t(done ? "md.task.done" : "md.task.open"),
    },
    copy: (code, button) => { void copyText(code, button, t("act.copied")); },
  };
}
