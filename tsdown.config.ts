import { defineConfig, type UserConfig } from "tsdown";

/** One file out for one file in, so that stack traces, the Lua beside the store and `import.meta.url` stay as in src. */
const common: UserConfig = {
  format: "esm",
  platform: "node",
  target: "node20",
  unbundle: true,
  fixedExtension: false,
  failOnWarn: true,
};

export default defineConfig([
  {
    ...common,
    name: "package",
    entry: ["src/index.ts", "src/testing/index.ts", "src/cli/main.ts"],
    root: "src",
    outDir: "dist",
    dts: true,
    sourcemap: true,
    copy: [{ from: "src/store/lua/*.lua", to: "dist/store/lua" }],
    publint: { strict: true },
    attw: { profile: "esm-only", level: "error" },
  },
  {
    ...common,
    // What the image runs beside the package: the example sagas and their processes, which import `reprise` by name.
    name: "processes",
    entry: ["workers/*.ts"],
    root: ".",
    outDir: "build",
    dts: false,
    deps: { neverBundle: [/^reprise(\/|$)/, /^@opentelemetry\//] },
  },
]);
