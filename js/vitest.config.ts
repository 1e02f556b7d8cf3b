import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Tests of what touches the DOM say so themselves: `// @vitest-environment jsdom`.
    environment: "node",
    pool: "threads",
    maxWorkers: 2,
    testTimeout: 30_000,
  },
});
