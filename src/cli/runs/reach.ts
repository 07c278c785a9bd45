/** Owns: the handle of the run that was named, and waiting for it: Ctrl-C leaves the run alone and says how to look at it again. */
import type { RunHandle, RunView } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Cli } from "../base/cli.ts";
import { refOf } from "../base/select.ts";
import { runText } from "../base/words.ts";
import { type ExitCode, exitCodes, Interrupted } from "../exit.ts";
import { printRun } from "./print.ts";

export async function reach(cli: Cli, id: string): Promise<RunHandle> {
  const ref = refOf(id, await cli.tenant());
  return (await cli.client()).run(ref.id, ref);
}

/** Waits for the run's end, prints it as it stands then, and says by the exit code how it ended. */
export async function waitForEnd(cli: Cli, run: RunHandle): Promise<ExitCode> {
  const { timeoutMs } = cli.globals;
  try {
    await leavingIt(cli, run, run.result(timeoutMs === undefined ? {} : { timeout: timeoutMs }));
    printRun(cli, await run.get());
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof RepriseError && isAnEnd(error)) printRun(cli, await run.get());
    throw error;
  }
}

function isAnEnd({ code }: RepriseError): boolean {
  return code === "RUN_FAILED" || code === "RUN_CANCELLED" || code === "RUN_NEEDS_REVIEW" || code === "RESULT_TIMEOUT";
}

/** Settles as the promise does; at Ctrl-C it says that the run goes on. */
export async function leavingIt<Value>(cli: Cli, run: RunHandle, promise: Promise<Value>): Promise<Value> {
  try {
    return await cli.unlessInterrupted(promise);
  } catch (error) {
    if (error instanceof Interrupted)
      cli.out.warn(`The run goes on. Look at it again: reprise runs watch ${await nameOf(cli, run)}`);
    throw error;
  }
}

/** As a command line takes it that names no tenant. */
export async function nameOf(cli: Cli, run: { readonly tenant: string; readonly id: string }): Promise<string> {
  return runText(run, await cli.usualTenant());
}

export function exitOf({ status }: Pick<RunView, "status">): ExitCode {
  return status === "failed" || status === "cancelled" ? exitCodes.failed : exitCodes.ok;
}
