/** `reprise lint <files>`: its options and what they mean. What it does is in lint-files.ts. */
import type { Command } from "commander";
import type { ExitCode } from "./exit.ts";

export function addLintCommand(program: Command, end: (code: ExitCode) => void): void {
  program
    .command("lint")
    .description("Print what is wrong, or doubtful, about the sagas that modules export")
    .argument("<files...>", "modules that export sagas, TypeScript or JavaScript")
    .option("--json", "print one JSON document")
    .addHelpText("after", examples)
    .action(async (files: readonly string[], _: object, command: Command) => {
      const options = command.optsWithGlobals<{ readonly json?: true }>();
      const { lintFiles } = await import("./lint-files.ts");
      end(await lintFiles(files, options));
    });
}

const examples = `
Examples:
  reprise lint sagas/order.ts
  reprise lint sagas/*.ts --json
  reprise lint sagas/*.ts && npm test

Exit codes: 0 nothing but warnings · 2 a file could not be read · 9 errors`;
