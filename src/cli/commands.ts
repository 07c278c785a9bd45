/** Every command that has the shape of `base/command.ts`, in the order of the help, and what their groups are. */
import type { AnyCommand } from "./base/command.ts";
import { runsList } from "./runs/list.ts";
import { versionCommand } from "./version.ts";
import { workersDrain } from "./workers/drain.ts";
import { workersList } from "./workers/list.ts";
import { supervisorCommand } from "./workers/supervisor.ts";
import { workerCommand } from "./workers/worker.ts";

export const groups: ReadonlyMap<string, string> = new Map([
  ["runs", "Start runs, look at them, ask things of them"],
  ["workers", "The workers of a namespace"],
]);

export const commands: readonly AnyCommand[] = [
  runsList,
  ...[workerCommand, workersList, workersDrain, supervisorCommand],
  versionCommand,
];
