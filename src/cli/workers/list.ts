/** `reprise workers list`: the workers of a namespace, what each has in hand, and what none of them can drive. */
import type { SeenWorker, WorkerState } from "../../core/index.ts";
import { command } from "../base/command.ts";
import { type Ink, ink } from "../base/ink.ts";
import type { Column } from "../base/table.ts";
import { lengthText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

export const workersList = command<[], object>({
  name: "workers list",
  summary: "Workers, how each is, and what it has in hand",
  details: `States: ready, draining, stale (silent for 15 s), wedged (takes nothing though Redis answers), lost (gone without a goodbye; shown for
ten minutes). On stderr: open runs that no living worker can drive, and how long ago a supervisor was heard of.`,
  examples: [
    "reprise workers list",
    "reprise workers list -o wide",
    "reprise workers list --jsonl | jq -r 'select(.data.state == \"ready\") | .data.id'",
  ],
  kinds: ["WorkerList", "Worker"],
  run: async (cli) => {
    const { workers, supervisors, unserved } = await (await cli.client()).workers();
    cli.out.list("Worker", {
      items: workers,
      id: ({ id }) => id,
      columns,
      empty: "No worker was heard of. Start one: reprise worker",
    });
    for (const structure of unserved) {
      cli.out.warn([ink("red", `Open runs cannot advance: no worker serves ${structure.split("#")[0] ?? structure}`)]);
    }
    const age = Math.min(...supervisors.map(({ ageMs }) => ageMs));
    cli.out.note(
      supervisors.length === 0 ? "No supervisor watches over them." : `Supervisor: heard of ${lengthText(age)} ago.`,
    );
    return exitCodes.ok;
  },
});

const columns: readonly Column<SeenWorker>[] = [
  { title: "state", cell: ({ state }) => stateInk(state) },
  { title: "worker", cell: ({ id }) => ink("bold", id) },
  { title: "name", cell: ({ heartbeat }) => heartbeat?.name ?? "-" },
  {
    title: "slots",
    cell: ({ heartbeat }) => (heartbeat === null ? "-" : `${heartbeat.slots.busy}/${heartbeat.slots.total}`),
  },
  { title: "sagas", cell: ({ heartbeat }) => heartbeat?.sagas.join(" ") ?? "-" },
  { title: "heard", cell: ({ ageMs }) => (ageMs === null ? "-" : `${lengthText(ageMs)} ago`) },
  { title: "up", cell: ({ heartbeat }) => (heartbeat === null ? "-" : lengthText(heartbeat.upMs)) },
  {
    title: "host",
    wide: true,
    cell: ({ heartbeat }) => (heartbeat === null ? "-" : `${heartbeat.host}:${heartbeat.pid}`),
  },
  { title: "version", wide: true, cell: ({ heartbeat }) => heartbeat?.version || "-" },
  { title: "lag", wide: true, cell: ({ heartbeat }) => (heartbeat === null ? "-" : `${heartbeat.lagMs} ms`) },
  {
    title: "Redis",
    wide: true,
    cell: ({ heartbeat }) => (heartbeat?.storeMs == null ? "-" : `${heartbeat.storeMs} ms`),
  },
  {
    title: "memory",
    wide: true,
    cell: ({ heartbeat }) => (heartbeat === null ? "-" : `${Math.round(heartbeat.rssBytes / 1e6)} MB`),
  },
  {
    title: "last job",
    wide: true,
    cell: ({ heartbeat }) => (heartbeat?.idleMs == null ? "-" : `${lengthText(heartbeat.idleMs)} ago`),
  },
];

function stateInk(state: WorkerState): Ink {
  switch (state) {
    case "ready":
      return ink("green", state);
    case "draining":
      return ink("yellow", state);
    case "stale":
    case "wedged":
    case "lost":
      return ink("red", state);
  }
}
