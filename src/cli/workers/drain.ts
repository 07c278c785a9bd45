/** `reprise workers drain`: asks a worker to finish and leave. */
import { command } from "../base/command.ts";
import { exitCodes } from "../exit.ts";

export const workersDrain = command<[string], object>({
  name: "workers drain",
  summary: "Ask a worker to take no new runs, finish, and end its process",
  details: `It hears it within five seconds. Calls that were made may end; the runs it has go on elsewhere. Asking twice changes nothing.`,
  args: [["<worker>", "its id, as `reprise workers list` shows it"]],
  examples: [
    "reprise workers drain 4fGh2kLm9QwErT5yUiOp --reason 'new kernel'",
    "reprise workers drain 4fGh2kLm9QwErT5yUiOp --dry-run",
    "reprise workers drain 4fGh2kLm9QwErT5yUiOp --reason 'move to eu-2' --json",
  ],
  kinds: ["Drain"],
  changes: {},
  run: async (cli, _flags, worker) => {
    const client = await cli.client();
    const seen = (await client.workers()).workers.find(({ id }) => id === worker);
    const name = seen?.heartbeat?.name ?? worker;
    if (cli.globals.dryRun) {
      if (seen === undefined) throw (await import("../../client/index.ts")).workerNotFound(worker);
      const data = { worker, name, state: seen?.state ?? null, drain: seen?.drain ?? null, dryRun: true };
      cli.out.document("Drain", data, { id: worker, lines: () => [`${name} would be asked to drain.`] });
      return exitCodes.ok;
    }
    const drain = await client.drain(worker, { by: cli.by, reason: await cli.reason() });
    const data = { worker, name, state: seen?.state ?? null, drain, dryRun: false };
    const lines = () => [`${name} was asked to drain by ${drain.by}: ${drain.reason}`];
    cli.out.document("Drain", data, { id: worker, lines });
    return exitCodes.ok;
  },
});
