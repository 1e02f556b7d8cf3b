/**
 * The style sheet of everything inside the shadow root: part A of the visual language, what is in use of it.
 *
 * Every value comes from Lab's variables, with system colours where there is no Lab. One accent: it means "you can act here"
 * or "now". Widths are those of the interface's own container, never of the window.
 */

const CSS = `
:host { display: block; min-inline-size: 0; }
[hidden] { display: none !important; }

/* tokens */
.hc {
  --hc-1: 4px; --hc-2: 8px; --hc-3: 12px; --hc-4: 16px; --hc-6: 24px; --hc-row: 24px; --hc-ctl: 28px;
  --hc-r: calc(var(--jp-border-radius, 2px) * 2); --hc-r2: calc(var(--jp-border-radius, 2px) * 3); --hc-bw: var(--jp-border-width, 1px);
  --hc-font: var(--jp-ui-font-family, system-ui, sans-serif); --hc-mono: var(--jp-code-font-family, ui-monospace, monospace);
  --hc-fs: var(--jp-ui-font-size1, 13px); --hc-fs-s: calc(var(--hc-fs) - 1px); --hc-fs-xs: calc(var(--hc-fs) - 2px);
  --hc-bg: var(--jp-layout-color1, Canvas); --hc-bg0: var(--jp-layout-color0, Canvas);
  --hc-text0: var(--jp-ui-font-color0, CanvasText); --hc-text: var(--jp-ui-font-color1, CanvasText);
  --hc-muted: color-mix(in srgb, var(--jp-ui-font-color0, CanvasText) 62%, transparent);
  --hc-faint: var(--jp-ui-font-color3, GrayText);
  --hc-line: var(--jp-border-color2, color-mix(in srgb, CanvasText 14%, Canvas)); --hc-line-strong: var(--jp-border-color1, color-mix(in srgb, CanvasText 28%, Canvas));
  --hc-input: var(--jp-input-border-color, GrayText); --hc-edge: transparent;
  --hc-fill: color-mix(in srgb, var(--jp-ui-font-color0, CanvasText) 4%, transparent);
  --hc-fill-2: color-mix(in srgb, var(--jp-ui-font-color0, CanvasText) 8%, transparent);
  --hc-accent: var(--jp-brand-color1, LinkText); --hc-accent-soft: color-mix(in srgb, var(--jp-brand-color1, LinkText) 12%, transparent);
  --hc-on-solid: var(--jp-ui-inverse-font-color1, Canvas); --hc-warm: var(--jp-warn-color0, #b35900); --hc-danger: var(--jp-error-color1, #d32f2f);
  --hc-code-bg: var(--jp-cell-editor-background, color-mix(in srgb, CanvasText 4%, Canvas)); --hc-code-line: var(--jp-cell-editor-border-color, color-mix(in srgb, CanvasText 14%, Canvas));
  --hc-fast: 100ms; --hc-mid: 160ms; --hc-ease: cubic-bezier(.2, 0, 0, 1);
  container: hc / inline-size; background: var(--hc-bg); color: var(--hc-text); font: 400 var(--hc-fs)/1.5 var(--hc-font); font-variant-numeric: tabular-nums;
  text-align: start; overflow-wrap: anywhere; position: relative; display: flex; flex-direction: column; min-inline-size: 0;
}
.hc.cell { padding: 4px; background: none; --hc-bg: var(--jp-layout-color0, Canvas); gap: var(--hc-2); }
.hc[data-contrast="more"] { --hc-edge: var(--jp-border-color1, CanvasText); --hc-muted: var(--jp-ui-font-color1, CanvasText); --hc-fill: transparent; }
@media (prefers-contrast: more), (forced-colors: active) { .hc { --hc-edge: var(--jp-border-color1, CanvasText); --hc-muted: var(--jp-ui-font-color1, CanvasText); } }
.hc *, .hc *::before, .hc *::after { box-sizing: border-box; }
.hc :where(p, ul, ol, h1, h2, h3, h4, h5, h6, pre, blockquote, table) { margin: 0; padding: 0; }
.hc :where(ul, ol) { list-style: none; }
.hc :where(button, input, textarea) { font: inherit; color: inherit; background: none; border: 0; padding: 0; margin: 0; text-align: inherit; letter-spacing: inherit; }
.hc button { cursor: pointer; }
.hc button:disabled { cursor: default; }
.hc :focus-visible { outline: 2px solid var(--hc-accent); outline-offset: 1px; }
.hc-i { width: 16px; height: 16px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.35; stroke-linecap: round; stroke-linejoin: round; display: block; }
.hc-acc { color: var(--hc-accent); }
.hc-mono { font-family: var(--hc-mono); font-size: var(--hc-fs-s); }
.hc-muted { color: var(--hc-muted); }
.hc-grow { flex: 1; min-width: 0; }
.hc-clip { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; min-width: 0; unicode-bidi: isolate; }
.hc-sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.hc-spin { animation: hc-spin 1s linear infinite; color: var(--hc-accent); }
@keyframes hc-spin { to { transform: rotate(360deg); } }
@media (prefers-reduced-motion: reduce) { .hc-spin { animation: none; } .hc * { transition: none !important; } }

/* controls */
.hc-ib { inline-size: var(--hc-ctl); block-size: var(--hc-ctl); flex: none; display: inline-grid; place-items: center; border-radius: var(--hc-r); color: var(--hc-muted); transition: background var(--hc-fast); }
.hc-ib:hover { background: var(--hc-fill-2); color: var(--hc-text0); }
.hc-ib.sm { inline-size: 24px; block-size: 24px; }
.hc-ib.sm .chev { width: 16px; height: 16px; }
.hc-b { display: inline-flex; align-items: center; justify-content: center; gap: 6px; block-size: var(--hc-ctl); padding: 0 10px; border-radius: var(--hc-r); border: var(--hc-bw) solid var(--hc-line-strong); white-space: nowrap; font-weight: 500; flex: none; transition: background var(--hc-fast); }
.hc .hc-b { border: var(--hc-bw) solid var(--hc-line-strong); padding: 0 10px; }
.hc-b:hover { background: var(--hc-fill); }
.hc-b:disabled, .hc-opt:disabled { opacity: .6; }
.hc .hc-b.solid { background: var(--hc-accent); border-color: var(--hc-accent); color: var(--hc-on-solid); }
.hc .hc-b.deny { background: var(--hc-text); border-color: transparent; color: var(--hc-bg); }
.hc .hc-b.quiet { border-color: transparent; font-weight: 400; color: var(--hc-muted); padding: 0 8px; }
.hc .hc-b.quiet:hover { background: var(--hc-fill-2); color: var(--hc-text0); }
.hc .hc-b.sm { block-size: 24px; padding: 0 8px; font-size: var(--hc-fs-s); }
.hc .hc-link { color: var(--jp-content-link-color, LinkText); text-decoration: none; font-weight: 500; white-space: nowrap; }
.hc .hc-link:hover { text-decoration: underline; }
.hc-key { font: 500 var(--hc-fs-xs)/16px var(--hc-font); min-inline-size: 16px; padding: 0 4px; text-align: center; border-radius: 3px; box-shadow: inset 0 0 0 1px var(--hc-line-strong); color: var(--hc-muted); flex: none; }
.hc-b.deny .hc-key { color: inherit; box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 45%, transparent); }
.hc-pick { min-inline-size: 0; display: flex; }
.hc .hc-sel { display: inline-flex; align-items: center; gap: 2px; block-size: var(--hc-ctl); padding: 0 4px 0 8px; border-radius: var(--hc-r); color: var(--hc-muted); font-size: var(--hc-fs-s); min-width: 0; max-inline-size: 100%; }
.hc .hc-sel.set { color: var(--hc-text); }
.hc-sel:hover, .hc-sel[aria-expanded="true"] { background: var(--hc-fill); }
.hc-sel .hc-i { width: 14px; height: 14px; }
.hc-pill { display: inline-flex; align-items: center; gap: 4px; block-size: 20px; padding: 0 8px; border-radius: 10px; font-size: var(--hc-fs-xs); font-weight: 500; white-space: nowrap; background: var(--hc-fill-2); border: var(--hc-bw) solid var(--hc-edge); flex: none; }
.hc-pill.ask { background: var(--hc-accent); color: var(--hc-on-solid); }
.hc-pill .hc-i { width: 12px; height: 12px; }

/* frame */
.hc.chat { block-size: 100%; overflow: hidden; }
.hc-frame { flex: 1; min-block-size: 0; display: flex; flex-direction: column; }
.hc-cols { flex: 1; min-block-size: 0; display: grid; grid-template: minmax(0, 1fr) / minmax(0, 1fr); }
.hc-main, .hc-side { display: flex; flex-direction: column; min-inline-size: 0; min-block-size: 0; container: hc / inline-size; }
.hc-cols.list > .hc-main { display: none; }
@container hc (min-width: 720px) {
  .hc-cols.list { grid-template-columns: 232px minmax(0, 1fr); }
  .hc-cols.list > .hc-main { display: flex; }
  .hc-cols > .hc-side { border-inline-end: var(--hc-bw) solid var(--hc-line); }
}
.hc-top { display: flex; align-items: center; gap: 2px; block-size: 36px; padding: 0 4px; border-block-end: var(--hc-bw) solid var(--hc-line); flex: none; }
.hc-title { font-weight: 600; padding: 0 4px; }
.hc-top .hc-pill { margin-inline-end: 4px; }
.hc-scroll { flex: 1; min-block-size: 0; overflow-y: auto; display: flex; flex-direction: column; }
.hc-flow { display: flex; flex-direction: column; gap: 24px; padding: var(--hc-4) var(--hc-3); }
.hc-flow:empty { display: none; }
.hc-flow:focus-visible { outline-offset: -2px; }
.hc-scroll > .hc-older { align-self: center; margin-block-start: var(--hc-2); }
.hc-lost { padding: var(--hc-4) var(--hc-3); }
.hc-dock { padding: 0 var(--hc-2) var(--hc-2); flex: none; display: flex; flex-direction: column; gap: var(--hc-1); }
.hc-bar { display: flex; align-items: center; min-inline-size: 0; }
.hc-banner { display: flex; gap: var(--hc-2); align-items: flex-start; padding: var(--hc-2) var(--hc-3); background: var(--hc-accent-soft); border-block-end: var(--hc-bw) solid var(--hc-edge); font-size: var(--hc-fs-s); line-height: 18px; flex: none; }
.hc-banner .hc-i { color: var(--hc-accent); margin-block-start: 1px; }
@container hc (min-width: 560px) {
  .hc-flow { padding: var(--hc-6) max(24px, calc((100cqi - 720px) / 2)) var(--hc-4); }
  .hc-dock { padding: 0 max(16px, calc((100cqi - 736px) / 2)) var(--hc-3); }
  .hc-lost { padding-inline: max(24px, calc((100cqi - 720px) / 2)); }
}

/* empty */
.hc-empty { margin-block-start: auto; display: flex; flex-direction: column; gap: var(--hc-3); padding: var(--hc-4) var(--hc-3); }
.hc-empty h2 { font-size: 18px; line-height: 24px; font-weight: 600; letter-spacing: -.01em; color: var(--hc-text0); text-wrap: balance; }
.hc-empty p { color: var(--hc-muted); max-width: 52ch; margin-block-start: -8px; }
.hc-sugs { display: flex; flex-direction: column; margin-inline: -8px; }
.hc .hc-sug { display: flex; align-items: center; gap: var(--hc-2); min-block-size: 32px; padding: 6px var(--hc-2); border-radius: var(--hc-r); line-height: 18px; }
.hc-sug > .hc-i { color: var(--hc-muted); }
.hc-sug:hover { background: var(--hc-fill-2); }
@container hc (min-width: 560px) { .hc-empty { padding: 48px max(24px, calc((100cqi - 720px) / 2)) var(--hc-4); } .hc-empty h2 { font-size: 20px; line-height: 28px; } }

/* the person's message */
.hc-user { align-self: flex-end; max-width: 88%; align-items: flex-end; position: relative; }
.hc-bub { background: var(--hc-fill-2); border: var(--hc-bw) solid var(--hc-edge); border-radius: var(--hc-r2); padding: 7px var(--hc-3); white-space: pre-wrap; max-inline-size: 100%; }
.hc-acts { display: flex; align-items: center; block-size: 24px; margin-inline: -4px; color: var(--hc-muted); opacity: 0; transition: opacity var(--hc-fast); }
.hc-turn:hover > .hc-acts, .hc-turn:focus-within > .hc-acts, .hc-turn.last > .hc-acts, .cell .hc-acts { opacity: 1; }
.hc-acts.rest { visibility: hidden; }
.hc-user > .hc-acts { position: absolute; inset-block-start: 100%; inset-inline-end: 0; }
.hc-flow > .hc-agent > .hc-acts { margin-block-end: -8px; }
.hc-agent:not(.last) > .hc-sugs { display: none; }

/* the agent's turn */
.hc-turn { display: flex; flex-direction: column; gap: var(--hc-2); min-width: 0; }
.hc-flow > .hc-agent { padding-inline: 4px; margin-inline: -4px; }
.hc-flow > .hc-agent:not(.last) { content-visibility: auto; contain-intrinsic-size: auto 160px; }
.hc-head { display: flex; align-items: center; gap: var(--hc-2); min-block-size: var(--hc-row); margin-inline: -4px; border-radius: var(--hc-r); background: var(--hc-bg); position: sticky; inset-block-start: 0; z-index: 1; text-align: start; }
.hc .hc-head { padding: 0 4px; }
.hc-head .now { font-weight: 500; }
.hc .hc-head.done { color: var(--hc-muted); font-size: var(--hc-fs-s); position: static; align-self: flex-start; max-width: 100%; background: none; padding-inline-end: 8px; }
.hc-head.done .now { font-weight: 400; }
.hc .hc-head.done.fold:hover { background: var(--hc-fill); color: var(--hc-text); }
.hc-head.done .chev { width: 16px; height: 16px; }
.hc-time { color: var(--hc-muted); font-size: var(--hc-fs-s); white-space: nowrap; flex: none; }
.hc-proc, .hc-item { display: flex; flex-direction: column; gap: 2px; min-inline-size: 0; }
.hc-r { display: flex; align-items: center; gap: var(--hc-2); min-block-size: var(--hc-row); margin-inline: -4px; border-radius: var(--hc-r); inline-size: calc(100% + 8px); color: var(--hc-muted); font-size: var(--hc-fs-s); min-width: 0; }
.hc .hc-r { padding: 0 4px; color: var(--hc-muted); font-size: var(--hc-fs-s); }
button.hc-r:hover { background: var(--hc-fill); }
.hc-r .nm { font-family: var(--hc-mono); color: var(--hc-text); flex: none; max-inline-size: 60%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.hc .hc-r.on { color: var(--hc-text); }
.hc-r.bad > .hc-i:first-child { color: var(--hc-danger); }
.chev { width: 12px; height: 12px; color: var(--hc-muted); transition: transform var(--hc-mid) var(--hc-ease); }
[aria-expanded="true"] > .chev { transform: rotate(90deg); }
.hc-item.sub { margin-inline-start: 7px; padding-inline-start: 16px; border-inline-start: var(--hc-bw) solid var(--hc-line); margin-block-start: -2px; padding-block-start: 2px; }
.hc-th { margin-inline-start: 7px; padding: 2px 0 4px 16px; border-inline-start: var(--hc-bw) solid var(--hc-line); color: var(--hc-muted); font-size: var(--hc-fs-s); line-height: 18px; display: flex; flex-direction: column; white-space: pre-wrap; }
.hc-th.live { max-block-size: 112px; overflow: hidden; justify-content: flex-end; mask: linear-gradient(transparent, #000 36px) bottom / 100% 112px no-repeat; }
.hc[data-contrast="more"] .hc-th.live { mask: none; }
.hc-th.hc-md { white-space: normal; color: var(--hc-text); }
.hc-res { margin: 2px 0 6px 7px; padding: 2px 0 2px 16px; border-inline-start: var(--hc-bw) solid var(--hc-line); display: flex; flex-direction: column; gap: 6px; font-size: var(--hc-fs-s); min-width: 0; }
.hc-res .foot { display: flex; gap: var(--hc-3); color: var(--hc-muted); flex-wrap: wrap; }
.hc .hc-pre { font: var(--hc-fs-s)/17px var(--hc-mono); white-space: pre-wrap; background: var(--hc-fill); border: var(--hc-bw) solid var(--hc-edge); border-radius: var(--hc-r); padding: 6px var(--hc-2); max-block-size: 420px; overflow: auto; }
.hc .hc-pre.args { background: none; padding: 0 var(--hc-2); color: var(--hc-muted); }
.hc-pre.err { background: var(--jp-rendermime-error-background, color-mix(in srgb, var(--hc-danger) 14%, transparent)); }

/* plan */
.hc-todo { display: flex; flex-direction: column; padding-block: 4px; }
.hc-todo .h { display: flex; align-items: center; gap: var(--hc-2); min-block-size: var(--hc-row); font-size: var(--hc-fs-s); }
.hc-todo .h b { font-weight: 500; }
.hc-prog { block-size: 3px; border-radius: 2px; background: var(--hc-fill-2); overflow: hidden; inline-size: 64px; outline: var(--hc-bw) solid var(--hc-edge); }
.hc-prog i { display: block; block-size: 100%; background: var(--hc-accent); border-radius: 2px; transition: inline-size var(--hc-mid) var(--hc-ease); }
.hc-todo li { display: flex; gap: var(--hc-2); align-items: flex-start; padding-block: 2px; font-size: var(--hc-fs-s); line-height: 18px; }
.hc-todo li .hc-i { margin-block-start: 1px; color: var(--hc-muted); }
.hc-todo li.done { color: var(--hc-muted); }
.hc-todo li.now { font-weight: 500; color: var(--hc-text0); }
.hc-todo li.now .hc-i { color: var(--hc-accent); }
.hc-todo li.drop { color: var(--hc-muted); text-decoration: line-through; }

/* answer */
.hc-turn > :is(.hc-md, .hc-todo):not(:first-child) { margin-block-start: 4px; }
.hc-md { display: flex; flex-direction: column; gap: 10px; line-height: 1.55; min-inline-size: 0; }
.hc-md :is(h1, h2, h3, h4, h5, h6) { font-weight: 600; line-height: 1.3; color: var(--hc-text0); margin-block-start: 6px; font-size: calc(var(--hc-fs) + 1px); }
.hc-md > :first-child { margin-block-start: 0; }
.hc-md :is(h1, h2) { font-size: calc(var(--hc-fs) + 3px); letter-spacing: -.005em; }
.hc-md :is(ul, ol) { padding-inline-start: 20px; display: flex; flex-direction: column; gap: 4px; }
.hc-md ul { list-style: disc; } .hc-md ol { list-style: decimal; }
.hc-md li > :is(ul, ol, p):not(:first-child) { margin-block-start: 4px; }
.hc-md li::marker { color: var(--hc-muted); }
.hc-md .md-task { list-style: none; margin-inline-start: -20px; }
.hc-md .md-task > input { margin: 0 6px 0 0; vertical-align: -2px; }
.hc-md blockquote { padding-inline-start: 12px; border-inline-start: 3px solid var(--hc-line); color: var(--hc-muted); display: flex; flex-direction: column; gap: 8px; }
.hc-md hr { border: 0; border-block-start: var(--hc-bw) solid var(--hc-line); inline-size: 100%; margin: 4px 0; }
.hc-md a { color: var(--jp-content-link-color, LinkText); }
.hc-md .md-where { color: var(--hc-muted); font-size: var(--hc-fs-s); }
.hc-md code { font-family: var(--hc-mono); font-size: .92em; background: var(--hc-fill); border-radius: 3px; padding: 1px 4px; }
.hc-md .md-html { font-family: var(--hc-mono); font-size: .92em; white-space: pre-wrap; }
.hc-md .md-scroll { overflow-x: auto; }
.hc-md .md-table table { border-collapse: collapse; font-size: var(--hc-fs-s); inline-size: max-content; }
.hc-md .md-table :is(th, td) { padding: 3px var(--hc-3) 3px 0; text-align: start; border-block-end: var(--hc-bw) solid var(--hc-line); white-space: nowrap; font-weight: 400; }
.hc-md .md-table th { font-weight: 500; color: var(--hc-muted); }
.hc-md .md-table .md-right { text-align: end; } .hc-md .md-table .md-center { text-align: center; }
.hc-md .md-table tbody tr:last-child td { border: 0; }
.hc-md .md-code { border: var(--hc-bw) solid var(--hc-code-line); border-radius: var(--hc-r); background: var(--hc-code-bg); overflow: hidden; }
.hc-md .md-code-head { display: flex; align-items: center; justify-content: space-between; block-size: 28px; padding-inline: var(--hc-2) 2px; color: var(--hc-muted); font-size: var(--hc-fs-s); }
.hc-md .md-code pre { font: var(--jp-code-font-size, 13px)/17px var(--hc-mono); padding: 2px var(--hc-2) var(--hc-2); tab-size: 4; }
.hc-md .md-code pre code { all: unset; }
.hc-md .md-copy { block-size: 24px; padding: 0 8px; border-radius: var(--hc-r); color: var(--hc-muted); }
.hc-md .md-copy:hover { background: var(--hc-fill-2); color: var(--hc-text0); }
.hc-md .md-load-image { padding: 4px 8px; border: var(--hc-bw) solid var(--hc-line-strong); border-radius: var(--hc-r); font-size: var(--hc-fs-s); }
.hc-md .md-image { max-inline-size: 100%; }
.hc-md.live > :is(p, h1, h2, h3, h4, h5, h6):last-child::after,
.hc-md.live > :is(ul, ol):last-child > li:last-child:not(:has(> :is(ul, ol, p, div):last-child))::after,
.hc-md.live > :is(ul, ol):last-child > li:last-child > p:last-child::after,
.hc-md.live > :is(ul, ol):last-child > li:last-child > :is(ul, ol):last-child > li:last-child::after,
.hc-md.live > .md-code:last-child pre::after { content: ""; display: inline-block; inline-size: 2px; block-size: 1.1em; background: var(--hc-accent); vertical-align: text-bottom; margin-inline-start: 1px; border-radius: 1px; }
@container hc (min-width: 560px) {
  .hc-agent > .hc-md, .hc-bub, .hc-input { font-size: var(--jp-content-font-size1, 14px); }
  .hc-agent > .hc-md { line-height: var(--jp-content-line-height, 1.6); gap: 12px; }
  .hc-agent > .hc-md :is(h1, h2) { font-size: 18px; } .hc-agent > .hc-md h3 { font-size: 15px; }
}

/* asking */
.hc-cards { display: flex; flex-direction: column; gap: var(--hc-2); }
.hc-card { border: var(--hc-bw) solid var(--hc-line-strong); border-radius: var(--hc-r2); overflow: hidden; background: var(--hc-bg); display: flex; flex-direction: column; }
.hc-card.ask { border-color: var(--hc-accent); }
.hc-card.risk { border-color: var(--hc-danger); box-shadow: inset 3px 0 0 var(--hc-danger); }
.hc-card > .h { display: flex; gap: var(--hc-2); align-items: flex-start; padding: 10px var(--hc-3) 0; }
.hc-card > .h .hc-i { margin-block-start: 2px; color: var(--hc-accent); }
.hc-card.risk > .h .hc-i { color: var(--hc-danger); }
.hc-card > .h b { font-weight: 600; color: var(--hc-text0); white-space: pre-wrap; }
.hc-why { font-size: var(--hc-fs-s); color: var(--hc-muted); line-height: 18px; }
.hc-card .b { padding: var(--hc-2) var(--hc-3) var(--hc-3); display: flex; flex-direction: column; gap: var(--hc-2); }
.hc-opts { display: flex; flex-direction: column; margin-inline: -8px; }
.hc .hc-opt { display: flex; gap: 10px; align-items: flex-start; padding: 6px var(--hc-2); border-radius: var(--hc-r); line-height: 18px; }
.hc-opt .hc-key { margin-block-start: 1px; }
.hc-opt:hover:enabled { background: var(--hc-fill); }
.hc-opt:focus-visible { background: var(--hc-accent-soft); outline: none; box-shadow: inset 0 0 0 1px var(--hc-accent); }
.hc-other { display: flex; align-items: center; gap: 10px; } .hc-other .hc-field { flex: 1; min-width: 0; }
.hc-field { display: flex; align-items: flex-end; gap: 4px; border: var(--hc-bw) solid var(--hc-input); border-radius: var(--hc-r); padding: 2px 2px 2px var(--hc-2); background: var(--hc-bg0); }
.hc .hc-field .t { flex: 1; padding: 2px 0; line-height: 20px; min-width: 0; resize: none; max-block-size: 140px; outline: none; }
.hc-field:focus-within { border-color: var(--hc-accent); box-shadow: 0 0 0 1px var(--hc-accent); }
.hc ::placeholder { color: var(--hc-muted); opacity: 1; }
.hc-note { font-size: var(--hc-fs-s); color: var(--hc-muted); display: flex; gap: 6px; align-items: flex-start; line-height: 18px; }
.hc-note .hc-i { width: 14px; height: 14px; margin-block-start: 2px; }
.hc-note.bad { color: var(--hc-danger); }
.hc-ends > .hc-note .hc-i { color: var(--hc-warm); }
.hc-cmd { font: var(--jp-code-font-size, 13px)/20px var(--hc-mono); background: var(--hc-code-bg); border: var(--hc-bw) solid var(--hc-code-line); border-radius: var(--hc-r); padding: 6px var(--hc-2); white-space: pre-wrap; word-break: break-all; direction: ltr; unicode-bidi: isolate-override; max-block-size: 320px; overflow-y: auto; }
.hc-cc { font: 600 calc(var(--hc-fs) - 3px)/14px var(--hc-font); display: inline-block; padding: 0 4px; border-radius: 3px; background: var(--hc-danger); color: var(--hc-on-solid); vertical-align: 1px; margin-inline: 1px; white-space: nowrap; }
.hc-nl { color: var(--hc-muted); user-select: none; }
.hc-btns { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
.hc-btns.eq { display: grid; grid-template-columns: 1fr 1fr; } .hc-btns.eq > :last-child:nth-child(odd) { grid-column: 1 / -1; }
@container hc (min-width: 560px) { .hc-btns.eq { display: flex; } }

/* ends and marks */
.hc-div { display: flex; align-items: center; gap: var(--hc-2); color: var(--hc-muted); font-size: var(--hc-fs-s); line-height: 16px; }
.hc-div::before, .hc-div::after { content: ""; flex: 1; min-inline-size: 12px; block-size: 1px; background: var(--hc-line); }
.hc-div > span { display: inline-flex; align-items: center; gap: 6px; text-align: center; }
.hc-div .hc-i { width: 14px; height: 14px; }
.hc-fold > summary { list-style: none; cursor: pointer; border-radius: var(--hc-r); }
.hc-sum { font-size: var(--hc-fs-s); line-height: 18px; color: var(--hc-muted); padding: var(--hc-2) var(--hc-4) 0; white-space: pre-wrap; }
.hc-ends { display: flex; flex-direction: column; gap: var(--hc-1); }
.hc-state { display: flex; gap: var(--hc-2); align-items: flex-start; line-height: 18px; padding-block: 3px; }
.hc-state.sm { font-size: var(--hc-fs-s); }
.hc-state > .hc-i { margin-block-start: 1px; color: var(--hc-muted); }
.hc-state.bad > .hc-i { color: var(--hc-danger); }
.hc-state .bt { display: flex; gap: 6px; margin-block-start: 8px; flex-wrap: wrap; }
.hc-state details { font-size: var(--hc-fs-s); color: var(--hc-muted); margin-block-start: 4px; }
.hc-state summary { cursor: pointer; inline-size: fit-content; border-radius: var(--hc-r); }
.hc-notice { display: flex; gap: var(--hc-2); align-items: center; padding: 6px 6px 6px 10px; border-radius: var(--hc-r2); background: color-mix(in srgb, var(--hc-warm) 10%, transparent); border: var(--hc-bw) solid color-mix(in srgb, var(--hc-warm) 45%, transparent); font-size: var(--hc-fs-s); line-height: 18px; }
.hc-notice > .hc-i { color: var(--hc-warm); }
.hc[data-contrast="more"] .hc-notice { border-color: var(--hc-edge); }
.hc-foot { flex: 1; padding-inline-end: 4px; display: flex; align-items: center; gap: 2px; min-block-size: 24px; }

/* composer */
.hc-comp { border: var(--hc-bw) solid var(--hc-input); border-radius: var(--hc-r2); background: var(--hc-bg0); transition: border-color var(--hc-fast); }
.hc-comp:has(.hc-input:focus) { border-color: var(--hc-accent); box-shadow: 0 0 0 1px var(--hc-accent); }
.hc .hc-input { display: block; inline-size: 100%; padding: 8px 7px 4px; min-block-size: 32px; line-height: 20px; max-block-size: 200px; white-space: pre-wrap; resize: none; outline: none; overflow-y: auto; }
.hc-comp .hc-bar { padding: 2px 4px 4px; gap: 2px; }
.hc-send { inline-size: 32px; block-size: 28px; border-radius: var(--hc-r); display: grid; place-items: center; flex: none; margin-inline-start: 4px; }
.hc .hc-send { background: var(--hc-accent); color: var(--hc-on-solid); }
.hc .hc-send:disabled { background: var(--hc-fill-2); color: var(--hc-faint); }
.hc[data-contrast="more"] .hc-send:disabled { opacity: .45; }
.hc .hc-stop { color: var(--hc-text0); }
.hc-hint { display: flex; gap: var(--hc-2); font-size: var(--hc-fs-xs); line-height: 16px; color: var(--hc-muted); padding: 0 8px; }
.hc-menu { position: absolute; inset-block-end: calc(100% + 4px); inset-inline-start: 0; z-index: 3; inline-size: max-content; min-inline-size: 200px; max-inline-size: min(320px, 100cqi - 32px); border: var(--hc-bw) solid var(--hc-line-strong); border-radius: var(--hc-r2); background: var(--hc-bg0); box-shadow: var(--jp-elevation-z6, 0 2px 8px rgb(0 0 0 / 25%)); padding: 4px; display: flex; flex-direction: column; }
.hc-comp { position: relative; }
.hc .hc-options { max-block-size: min(280px, 45vh); overflow-y: auto; outline: none; }
.hc-mi { display: flex; align-items: center; gap: var(--hc-2); min-block-size: 28px; padding: 0 var(--hc-2); border-radius: var(--hc-r); cursor: pointer; }
.hc-mi .hc-i { color: var(--hc-muted); }
.hc-mi > .hc-grow { flex: 1 1 auto; }
.hc-mi .ds { color: var(--hc-muted); font-size: var(--hc-fs-s); max-inline-size: 50%; }
.hc-mi.cur { background: var(--hc-accent-soft); }
.hc-search { display: flex; align-items: center; gap: 6px; block-size: 28px; margin-block-end: 4px; padding: 0 4px 0 8px; border: var(--hc-bw) solid var(--hc-input); border-radius: var(--hc-r); color: var(--hc-muted); flex: none; }
.hc .hc-search input { color: var(--hc-text); outline: none; }
.hc-search:focus-within { border-color: var(--hc-accent); box-shadow: 0 0 0 1px var(--hc-accent); }

/* chats */
.hc-list { flex: 1; min-block-size: 0; overflow-y: auto; padding-block-end: var(--hc-2); }
.hc-none { padding: var(--hc-4) var(--hc-3); color: var(--hc-muted); flex: 1; }
.hc .hc-day { font-size: var(--hc-fs-s); font-weight: 500; color: var(--hc-muted); padding: 12px var(--hc-3) 4px; }
.hc-ses { display: flex; align-items: flex-start; position: relative; line-height: 18px; flex-wrap: wrap; }
.hc-ses:hover { background: var(--hc-fill); }
.hc-ses.cur { background: var(--hc-accent-soft); box-shadow: inset 2px 0 0 var(--hc-accent); }
.hc .hc-ses-open { display: flex; flex-direction: column; flex: 1; min-inline-size: 0; padding: 6px 0 6px var(--hc-3); min-block-size: 48px; }
.hc-ses-open::after { content: ""; position: absolute; inset: 0; }
.hc-ses-open:focus-visible { outline: none; } .hc-ses-open:focus-visible::after { outline: 2px solid var(--hc-accent); outline-offset: -2px; }
.hc-ses .p { font-size: var(--hc-fs-s); color: var(--hc-muted); min-block-size: 18px; }
.hc-ses .m { display: flex; align-items: center; gap: 2px; font-size: var(--hc-fs-xs); color: var(--hc-muted); min-block-size: 18px; padding: 6px var(--hc-3) 0 var(--hc-2); }
.hc-ses .m .hc-pill { padding-inline: 6px; }
.hc-del { position: absolute; inset-inline-end: 8px; inset-block-end: 2px; z-index: 1; opacity: 0; }
.hc-ses:hover .hc-del, .hc-ses:focus-within .hc-del { opacity: 1; }
.hc-confirm { display: flex; align-items: center; gap: 4px; inline-size: 100%; padding: 0 8px 6px var(--hc-3); position: relative; z-index: 1; font-size: var(--hc-fs-s); }
.hc-side > .hc-notice { margin: var(--hc-2); }
@container hc (max-width: 260px) { .hc-ses .hc-pill.ask { padding: 0; inline-size: 18px; block-size: 18px; justify-content: center; } .hc-ses .hc-pill.ask span { display: none; } }
@container hc (max-width: 299px) { .hc-btns.eq { grid-template-columns: 1fr; } .hc-hint { display: none; } .hc-pick.sk:has(.hc-sel:not(.set)) { display: none; } }
`;

let sheet: CSSStyleSheet | null = null;

/** One sheet for every root of the page; a browser without constructed sheets gets a copy in the root. */
export function adopt(root: ShadowRoot): void {
  if (!("adoptedStyleSheets" in root)) {
    const style = document.createElement("style");
    style.textContent = CSS;
    (root as ShadowRoot).append(style);
    return;
  }
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
  }
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
