/** `reprise runs bundle`: one run as one document, for a bug report or `replayLog`. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { command } from "../base/command.ts";
import { escaped } from "../base/out.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { reach } from "./reach.ts";

interface Flags {
  readonly to?: string;
  readonly mask?: readonly string[];
}

/** Throws UsageError where it cannot be written there. */
async function written(file: string, text: string, to: string): Promise<void> {
  try {
    await writeFile(file, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`--to ${to}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export const runsBundle = command<[id: string], Flags>({
  name: "runs bundle",
  summary: "One run, whole, as one JSON document: for a bug report, or for `replayLog` of reprise/testing",
  details:
    "What looks like a credential is masked, and said to be, also with --reveal. Without --to the document itself is printed (`parseBundle`\nreads it); with it, it is written there.",
  args: [["<id>", "of the run"]],
  options: [
    ["--to <file>", "write it there"],
    ["--mask <name>", "mask the values under this name, too", "many"],
  ],
  examples: [
    "reprise runs bundle order-o-1 --to order-o-1.json",
    "reprise runs bundle order-o-1 --mask email --mask phone > order-o-1.json",
    "reprise runs bundle order-o-1 --to order-o-1.json --dry-run",
    "reprise runs bundle order-o-1 | jq .log",
  ],
  kinds: ["BundleFile"],
  changes: { noReason: "it writes a file of the caller's" },
  run: async (cli, { to, mask = [] }, id) => {
    const run = await reach(cli, id);
    const bundle = await run.bundle({ mask });
    const text = `${escaped(JSON.stringify(bundle))}\n`;
    if (to === undefined) {
      cli.io.stdout.write(text);
      return exitCodes.ok;
    }
    const file = resolve(cli.io.cwd, to);
    if (!cli.globals.dryRun) await written(file, text, to);
    const { masked, missing } = bundle;
    const data = { tenant: run.tenant, run: run.id, file, bytes: Buffer.byteLength(text), masked, missing };
    const line = `${cli.globals.dryRun ? "would be written" : "written"} to ${file}, ${data.bytes} bytes, ${masked.length} values masked`;
    cli.out.document("BundleFile", data, { id: file, lines: () => [line] });
    return exitCodes.ok;
  },
});
