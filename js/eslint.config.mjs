import eslint from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["lib/", "src/protocol/types.ts"]),
  eslint.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: "only-allowed-literals" }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      // Spreading a string gives code points, which is what offsets count.
      "@typescript-eslint/no-misused-spread": "off",
      eqeqeq: "error",
      // Text of a model never becomes HTML (R63).
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Build nodes (src/markdown/nodes.ts)." },
        { property: "outerHTML", message: "Build nodes (src/markdown/nodes.ts)." },
        { property: "insertAdjacentHTML", message: "Build nodes (src/markdown/nodes.ts)." },
      ],
    },
  },
  { files: ["tests/**"], rules: { "@typescript-eslint/no-non-null-assertion": "off" } },
  { files: ["**/*.mjs"], languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } } },
);
