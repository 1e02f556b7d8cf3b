import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import en from "../../src/i18n/en.json";
import { Locale } from "../../src/i18n/translate";
import zh from "../../src/i18n/zh-CN.json";

type Catalogue = Record<string, string | Record<string, string>>;
const catalogues: Record<string, Catalogue> = { en, "zh-CN": zh };
const forms = (entry: string | Record<string, string> | undefined): string[] => (typeof entry === "string" ? [entry] : Object.values(entry ?? {}));
const holes = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "").sort();

const source = new URL("../../src/", import.meta.url);
const code = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file) && !file.startsWith("i18n"))
  .map((file) => readFileSync(new URL(file, source), "utf8"))
  .join("\n");

test("R61: both catalogues have the same keys", () => {
  expect(Object.keys(zh)).toEqual(Object.keys(en));
});

test("R61: a translation fills the same places as the English one", () => {
  for (const [key, entry] of Object.entries(catalogues["zh-CN"] ?? {})) {
    const wanted = holes(forms(catalogues["en"]?.[key]).at(-1) ?? "");
    for (const form of forms(entry)) expect([key, holes(form)]).toEqual([key, wanted]);
  }
});

test("R61: every key is in use", () => {
  const families = [...code.matchAll(/`([a-z]+\.)\$\{/g)].map((match) => match[1] ?? "");
  const used = (key: string) => code.includes(`"${key}"`) || families.some((family) => key.startsWith(family));
  const own = Object.keys(en).filter((key) => !key.startsWith("time."));
  expect(own.filter((key) => !used(key))).toEqual([]);
});

test("R61: no English words stand in the interface's code", () => {
  const ui = new URL("ui/", source);
  const found = readdirSync(ui).flatMap((file) => {
    const text = readFileSync(new URL(file, ui), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    // Words between tags, and in the attributes that are read out or shown.
    return [...text.matchAll(/>([A-Z][a-z]+ ?[a-z ]*)<\/|(?:title|aria-label|placeholder)[=:]\s*"([^"]+)"/g)].map((match) => `${file}: ${match[0]}`);
  });
  expect(found).toEqual([]);
});

test("R61: plurals and figures follow the language", () => {
  const english = new Locale("en");
  expect([english.t("sum.tools", { n: 1 }), english.t("sum.tools", { n: 1204 })]).toEqual(["1 tool", "1,204 tools"]);
  expect([0, 420, 12_000, 125_000, 3_840_000].map((ms) => english.duration(ms))).toEqual(["0.1 s", "0.4 s", "12 s", "2 min 5 s", "1 h 4 min"]);
  expect([18_900, 3_723_000].map((ms) => english.clock(ms))).toEqual(["0:18", "1:02:03"]);
  expect([940, 1200, 128_000].map((n) => english.compact(n))).toEqual(["940", "1.2k", "128k"]);
  const chinese = new Locale("zh-CN");
  expect(chinese.t("sum.tools", { n: 4 })).toBe("4 次工具调用");
  expect(chinese.duration(12_000)).toBe("12 秒");
});
