import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Tests of what touches the DOM say so themselves: `// @vitest-environment jsdom`.
    environment: "node",
    pool: "threads",
    // One jsdom a worker instead of one a file: a third of the time. Modules keep no state that a test could leave behind.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
  },
});
