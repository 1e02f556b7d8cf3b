/** Packages that bring no types. */

declare module "commonmark-spec" {
  const spec: { tests: { markdown: string; html: string; section: string; number: number }[] };
  export default spec;
}

declare module "jsdom" {
  export class JSDOM {
    constructor(html: string, options: { runScripts: "dangerously"; url: string });
    readonly window: Window & typeof globalThis;
  }
}
