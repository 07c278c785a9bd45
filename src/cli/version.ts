/** `reprise version`: what this is and what it runs on. */
import { readFileSync } from "node:fs";
import { command } from "./base/command.ts";
import { exitCodes } from "./exit.ts";

export const versionCommand = command<[], object>({
  name: "version",
  summary: "The versions of Reprise and of what it runs on",
  examples: ["reprise version", "reprise version --json", "reprise version -o id"],
  kinds: ["Version"],
  run: async (cli) => {
    const data = {
      reprise: packageVersion(),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    cli.out.document("Version", data, {
      id: data.reprise,
      lines: () => Object.entries(data).map(([name, value]) => `${name.padEnd(9)}${value}`),
    });
    return exitCodes.ok;
  },
});

export function packageVersion(): string {
  const read: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof read === "object" && read !== null && "version" in read ? String(read.version) : "unknown";
}
