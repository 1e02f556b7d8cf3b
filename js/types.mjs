// Types of the protocol from its JSON Schema: `npm run types` writes src/protocol/types.ts, `--check` fails when it is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const source = new URL("../jupyter_hermes_chat/protocol/schema.json", import.meta.url);
const target = new URL("src/protocol/types.ts", import.meta.url);

export async function generate() {
  const schema = JSON.parse(readFileSync(source, "utf8"));
  const text = await compile(schema, schema.title, {
    unreachableDefinitions: true,
    bannerComment: "/* Generated from protocol/schema.json by `npm run types`. Do not edit. */",
  });
  // The generator names the place of each definition in a comment, and types the document itself; neither helps a reader.
  return text
    .replace(/export interface HermesChatProtocol \{\n\s*\[k: string\]: unknown;\n\}\n/, "")
    .replace(/\/\*\*\n \* This interface was referenced by [^/]*?\*\/\n/g, "")
    .replace(/ \*\n \* This interface was referenced by [^/]*?\*\//g, " */");
}

const fresh = await generate();
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== fresh) {
    console.error("src/protocol/types.ts is stale: run `npm run types`");
    process.exit(1);
  }
} else {
  writeFileSync(target, fresh);
}
