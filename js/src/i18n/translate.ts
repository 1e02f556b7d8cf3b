/**
 * Words in the reader's language, and figures as that language writes them (R61).
 *
 * Catalogues are flat: a string, or an object of plural categories (`Intl.PluralRules` on `{n}`). English names the keys, so
 * a key that does not exist does not compile. What the agent, a model, a skill or a tool says is never translated.
 */
import en from "./en.json";
import zh from "./zh-CN.json";

export type Key = keyof typeof en;
export type Language = "en" | "zh-CN";
type Entry = string | ({ readonly other: string } & Partial<Record<Intl.LDMLPluralRule, string>>);
export type Args = Readonly<Record<string, string | number>>;

const CATALOGUES: Record<Language, Record<Key, Entry>> = { en, "zh-CN": zh };

/** Lab and Notebook 7 write the chosen locale into `<html lang>` (`zh-CN` or `zh_CN`); the page's server does the same. */
export function pageLanguage(): Language {
  return /^zh\b/i.test(document.documentElement.lang.replace("_", "-")) ? "zh-CN" : "en";
}

export class Locale {
  private readonly catalogue: Record<Key, Entry>;
  private readonly plural: Intl.PluralRules;
  private readonly number: Intl.NumberFormat;
  private readonly short: Intl.NumberFormat;
  private readonly decimal: Intl.NumberFormat;
  private readonly hour: Intl.DateTimeFormat;
  private readonly date: Intl.DateTimeFormat;

  constructor(readonly language: Language) {
    this.catalogue = CATALOGUES[language];
    this.plural = new Intl.PluralRules(language);
    this.number = new Intl.NumberFormat(language);
    this.short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
    this.decimal = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    this.hour = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hour12: false });
    this.date = new Intl.DateTimeFormat(language, { month: "short", day: "numeric" });
  }

  readonly t = (key: Key, args: Args = {}): string => {
    const entry = this.catalogue[key];
    const text = typeof entry === "string" ? entry : (entry[this.plural.select(Number(args.n))] ?? entry.other);
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = args[name] ?? "";
      return typeof value === "number" ? this.number.format(value) : value;
    });
  };

  /** "0.4 s", "12 s", "2 min 5 s", "1 h 4 min". */
  duration(ms: number): string {
    const s = Math.round(ms / 1000);
    if (ms < 2950) return this.t("time.s", { n: this.decimal.format(Math.max(ms, 100) / 1000) });
    if (s < 60) return this.t("time.s", { n: s });
    const m = Math.floor(s / 60);
    return m < 60 ? this.t("time.m", { m, s: s % 60 }) : this.t("time.h", { h: Math.floor(m / 60), m: m % 60 });
  }

  /** "0:18", "1:02:03": the running clock, which must not change its width. */
  clock(ms: number): string {
    const s = Math.max(0, Math.floor(ms / 1000));
    const two = (n: number) => String(n).padStart(2, "0");
    const m = Math.floor(s / 60);
    return m < 60 ? `${m}:${two(s % 60)}` : `${Math.floor(m / 60)}:${two(m % 60)}:${two(s % 60)}`;
  }

  /** "940", "1.2k", "128k". */
  compact(n: number): string {
    return this.short.format(n).replace("K", "k");
  }

  /** The hour for today and yesterday, the date for the rest; `at` in milliseconds since the epoch. */
  when(at: number, now: number): string {
    return (daysBetween(at, now) <= 1 ? this.hour : this.date).format(at);
  }
}

/** Midnights between two times in the reader's own time zone. */
export function daysBetween(earlier: number, later: number): number {
  const midnight = (at: number) => new Date(at).setHours(0, 0, 0, 0);
  return Math.round((midnight(later) - midnight(earlier)) / 86_400_000);
}
