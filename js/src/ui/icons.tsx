/**
 * The icons, one symbol a meaning (arrow up = send, ring with square = stop, ring with dot = now), as path data:
 * what is stroked, what is filled, what is drawn faint. 16 px box, 1.35 px stroke, in the colour of the text around.
 */

const PATHS = {
  list: ["M2.5 4h11M2.5 8h11M2.5 12h7"],
  compose: ["M13.5 8v5.5h-11v-11H8M13 2.2a1.1 1.1 0 0 1 .8 1.9L8.6 9.3l-2.1.5.5-2.1 5.2-5.2a1.1 1.1 0 0 1 .8-.3z"],
  right: ["M6 3.5l4.5 4.5L6 12.5"],
  down: ["M3.5 6 8 10.5 12.5 6"],
  left: ["M10 3.5 5.5 8l4.5 4.5"],
  check: ["M3 8.5l3.2 3.2L13 4.8"],
  cross: ["M4 4l8 8M12 4l-8 8"],
  spinner: ["M8 2.5A5.5 5.5 0 0 1 13.5 8", "", "M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0"],
  think: ["M5.2 10.5a2.7 2.7 0 0 1-.3-5.3 3.3 3.3 0 0 1 6.3-.6 2.9 2.9 0 0 1 .1 5.9zM4.3 12.6a0.9 0.9 0 1 0 1.8 0a0.9 0.9 0 1 0 -1.8 0", "M2.4 14.2a0.6 0.6 0 1 0 1.2 0a0.6 0.6 0 1 0 -1.2 0"],
  send: ["M8 13V3.5M4 7.2l4-3.9 4 3.9"],
  stopped: ["", "M5 4h6a1 1 0 0 1 1 1v6a1 1 0 0 1 -1 1h-6a1 1 0 0 1 -1 -1v-6a1 1 0 0 1 1 -1z"],
  stop: ["M2.3 8a5.7 5.7 0 1 0 11.4 0a5.7 5.7 0 1 0 -11.4 0", "M6.35 5.75h3.3a0.6 0.6 0 0 1 0.6 0.6v3.3a0.6 0.6 0 0 1 -0.6 0.6h-3.3a0.6 0.6 0 0 1 -0.6 -0.6v-3.3a0.6 0.6 0 0 1 0.6 -0.6z"],
  copy: ["M6.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1 -1 1h-6a1 1 0 0 1 -1 -1v-6a1 1 0 0 1 1 -1zM3.5 10.5h-1v-8h8v1"],
  retry: ["M13 8a5 5 0 1 1-1.5-3.6L13 5.8M13 2.5v3.3H9.7"],
  trash: ["M3 4.5h10M6 4.5v-2h4v2M4.2 4.5l.6 9h6.4l.6-9M6.8 7v4M9.2 7v4"],
  compact: ["M3 8h10M8 1.8v3.7M6 3.8l2 1.9 2-1.9M8 14.2v-3.7M6 12.2l2-1.9 2 1.9"],
  shield: ["M8 2 13 4v4c0 3-2.2 5-5 6-2.8-1-5-3-5-6V4zM5.8 8h4.4"],
  warn: ["M8 2.6 14.2 13.4H1.8zM8 6.7v3", "M7.2 11.5a0.8 0.8 0 1 0 1.6 0a0.8 0.8 0 1 0 -1.6 0"],
  info: ["M2.3 8a5.7 5.7 0 1 0 11.4 0a5.7 5.7 0 1 0 -11.4 0M8 7.3v3.6", "M7.2 5.2a0.8 0.8 0 1 0 1.6 0a0.8 0.8 0 1 0 -1.6 0"],
  error: ["M2.3 8a5.7 5.7 0 1 0 11.4 0a5.7 5.7 0 1 0 -11.4 0M8 4.9v3.8", "M7.2 10.9a0.8 0.8 0 1 0 1.6 0a0.8 0.8 0 1 0 -1.6 0"],
  ask: ["M2.3 8a5.7 5.7 0 1 0 11.4 0a5.7 5.7 0 1 0 -11.4 0M6.3 6.5a1.7 1.7 0 1 1 2.5 1.5c-.5.3-.8.6-.8 1.2", "M7.2 11.2a0.8 0.8 0 1 0 1.6 0a0.8 0.8 0 1 0 -1.6 0"],
  now: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0 -10 0", "M5.8 8a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0 -4.4 0"],
  ring: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0 -10 0"],
  tick: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0 -10 0M5.7 8.2l1.6 1.6 3-3.3"],
  dash: ["M3 8a5 5 0 1 0 10 0a5 5 0 1 0 -10 0M5.8 8h4.4"],
  plan: ["M2.5 4l1.2 1.2L6 3M2.5 11l1.2 1.2L6 10M8.5 4.5h5M8.5 11.5h5"],
  parallel: ["M4 3v10M8 3v10M12 3v10"],
  branch: ["M3 3.8a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0M3 12.2a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0M10 5.8a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0M4.5 5.3v5.4M11.5 7.3c0 2-2.5 2.2-4.5 2.4s-2.5.6-2.5 1"],
  chat: ["M2.5 3.5h11v8h-6l-3 2.5v-2.5h-2zM5.5 6l1.75 1.5L5.5 9M8.5 9H10"],
  cut: ["M1.8 8h3.7M10.5 8h3.7M9.6 3.6 6.4 12.4"],
  search: ["M3 7a4 4 0 1 0 8 0a4 4 0 1 0 -8 0M10 10l3.5 3.5"],
} satisfies Record<string, readonly [stroke: string, fill?: string, faint?: string]>;

export type IconName = keyof typeof PATHS;

function pathsOf(name: IconName): readonly string[] {
  return PATHS[name];
}

const SVG = "http://www.w3.org/2000/svg";
const ROLES: readonly Record<string, string>[] = [{}, { fill: "currentColor", stroke: "none" }, { opacity: ".22" }];

/** A new SVG element; `className` is added to `hc-i`. Hidden from screen readers: the words stand beside it or in a label. */
export function icon(name: IconName, className = ""): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", className ? `hc-i ${className}` : "hc-i");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  pathsOf(name).forEach((d, i) => {
    if (!d) return;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    for (const [key, value] of Object.entries(ROLES[i] ?? {})) path.setAttribute(key, value);
    svg.append(path);
  });
  return svg;
}

/** The same for Preact. */
export function Icon({ name, class: className = "" }: { name: IconName; class?: string }) {
  return (
    <svg class={className ? `hc-i ${className}` : "hc-i"} viewBox="0 0 16 16" aria-hidden="true">
      {pathsOf(name).map((d, i) => d && <path d={d} {...ROLES[i]} />)}
    </svg>
  );
}
