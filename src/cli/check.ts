/** `reprise check`: what becomes of every open run when this code is deployed. What a person is shown is in check-report.ts. */
import { resolve } from "node:path";
import type { CheckedRun } from "../client/index.ts";
import { command } from "./base/command.ts";
import { exitCodes, UsageError } from "./exit.ts";

interface Flags {
  readonly sagas?: readonly string[];
}

export const checkCommand = command<[], Flags>({
  name: "check",
  summary: "Say what becomes of every open run when this code is deployed; writes nothing",
  details:
    "With --jsonl a line for each run that does not simply go on, then the report. Exit 9 where a run would break, cannot be read, or is\nserved by nobody.",
  options: [
    [
      "--sagas <modules...>",
      "modules that export the sagas the new workers will serve; those of reprise.config unless given",
    ],
  ],
  examples: [
    "reprise check --sagas dist/sagas.js",
    "reprise check --sagas sagas/order.ts sagas/trip.ts --redis redis://10.0.0.5:6379 --json",
    "reprise check && kubectl rollout restart deployment/worker",
  ],
  kinds: ["CheckReport", "CheckedRun"],
  run: async (cli, flags) => {
    // Loaded when it is wanted: client and store are much to load for a sentence of help.
    const [{ checkDeploy }, { importSagas }, { reportLines }] = await Promise.all([
      import("../orchestrator/index.ts"),
      import("./modules.ts"),
      import("./check-report.ts"),
    ]);
    const { tenant: _, file: __, ...place } = await cli.place();
    const sagas =
      flags.sagas === undefined ? place.sagas : await importSagas(flags.sagas.map((file) => resolve(cli.io.cwd, file)));
    if (sagas.length === 0) throw new UsageError("which sagas? Give --sagas, or name them in reprise.config.ts");
    const onRun = cli.out.format === "jsonl" ? printRun : undefined;
    const report = await checkDeploy({ ...place, sagas, onRun, facts: cli.facts });
    const usual = await cli.usualTenant();
    cli.out.document("CheckReport", report, { lines: () => reportLines(report, usual) });
    return report.ok ? exitCodes.ok : exitCodes.findings;

    function printRun(run: CheckedRun): void {
      if (run.fate !== "goes_on") cli.out.document("CheckedRun", run, { lines: () => [] });
    }
  },
});
