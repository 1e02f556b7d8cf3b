/** The few words that JupyterLab shows before the core, and its catalogues, are there. */
const WORDS = {
  en: { title: "Hermes chat", open: "Open Hermes Chat" },
  "zh-CN": { title: "Hermes 对话", open: "打开 Hermes 对话" },
};

/** *locale* as JupyterLab has it (`zh_CN`, `zh-CN`, `en`, …). */
export function words(locale: string): { title: string; open: string } {
  return /^zh\b/i.test(locale.replace("_", "-")) ? WORDS["zh-CN"] : WORDS.en;
}
