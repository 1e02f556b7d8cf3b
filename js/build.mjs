/**
 * Builds everything that a browser loads, into the Python package: `npm run build`, nothing else is needed.
 *
 *   static/core.<hash>.js   the one core, imported by URL by every shell (design §7), with a .gz beside it
 *   static/page.<hash>.js   the page's shell, and its style; static/widget.js: what the anywidget carries
 *   static/manifest.json    which file is which: written last, so a server never names a file that is not there
 *   labextension/           the plugins of JupyterLab, around the same core
 *
 * The same sources in the same folder give the same bytes. Files of earlier builds are removed at the end.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const package_ = join(here, "../jupyter_hermes_chat");
const out = join(package_, "static");
const require = createRequire(import.meta.url);

/**
 * Of marked only the lexer is used (src/markdown): its default instance, which esbuild must keep since making it could have
 * effects, would hold parser and renderer in the core (4 kB compressed).
 */
const lexerOnly = {
  name: "marked: the lexer only",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]marked[\\/]lib[\\/]marked\.esm\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const contents = source.replace(/;var (\w+)=new \w+;function \w+\(.*?export\{.*?\b(\w+) as Lexer\b.*?\};/s, ";export{$2 as Lexer};");
      if (contents === source) throw new Error("marked has changed: look at `lexerOnly` in build.mjs");
      return { contents };
    });
  },
};

const browser = {
  absWorkingDir: here,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "none",
  metafile: true,
  minify: true,
  outdir: out,
  plugins: [lexerOnly],
  target: "es2022",
  write: false,
};

/** Text of the licences of what esbuild put into the bundles. */
function licences(inputs) {
  const folders = new Set(inputs.map(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  return [...folders].sort().map(folder => {
    const { name, version } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
    const file = readdirSync(join(here, folder)).find(entry => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version}\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(78)}\n\n`);
}

async function bundles() {
  const [hashed, widget] = await Promise.all([
    build({ ...browser, entryNames: "[name].[hash]", entryPoints: ["src/shells/core.ts", "src/shells/page.ts", "src/shells/page.css"] }),
    build({ ...browser, entryPoints: ["src/shells/widget.ts"] }),
  ]);
  const files = new Map();
  for (const { path, contents } of [...hashed.outputFiles, ...widget.outputFiles]) files.set(basename(path), contents);
  for (const { path, contents } of hashed.outputFiles) files.set(`${basename(path)}.gz`, gzipSync(contents, { level: 9 }));
  files.set("third-party-licenses.txt", licences([...Object.keys(hashed.metafile.inputs), ...Object.keys(widget.metafile.inputs)]));
  const named = pattern => [...files.keys()].find(name => pattern.test(name));
  const manifest = { core: named(/^core\..*\.js$/), page: named(/^page\..*\.js$/), pageCss: named(/^page\..*\.css$/), widget: "widget.js" };
  mkdirSync(out, { recursive: true });
  for (const [name, contents] of files) writeFileSync(join(out, name), contents);
  writeFileSync(join(out, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of readdirSync(out)) if (!files.has(name) && name !== "manifest.json") rmSync(join(out, name));
  return { manifest, files };
}

/** Lab's own bundler takes JavaScript; `packages: external` leaves what Lab shares to it. */
async function labextension() {
  rmSync(join(here, "lib"), { recursive: true, force: true });
  await build({
    absWorkingDir: here, bundle: true, charset: "utf8", entryPoints: ["src/shells/lab/index.ts", "src/shells/lab/turn.ts"],
    format: "esm", outdir: "lib/lab", packages: "external", splitting: true, target: "es2022",
  });
  const script = require.resolve("@jupyter/builder/lib/build-labextension.js");
  const lab = require.resolve("@jupyterlab/core-meta/core.package.json");
  execFileSync(process.execPath, [script, "--core-package-file", lab, here], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
}

const { manifest, files } = await bundles();
await labextension();
const kilobytes = bytes => `${(bytes / 1000).toFixed(1)} kB`;
console.log(`core ${kilobytes(files.get(`${manifest.core}.gz`).length)}, page ${kilobytes(files.get(`${manifest.page}.gz`).length)}, loader ${kilobytes(gzipSync(files.get(manifest.widget)).length)} (gzip)`);
