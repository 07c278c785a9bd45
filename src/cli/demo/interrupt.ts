/** Owns: what Ctrl-C does. The first one ends everything in order, the second one at once. */
import { exitCodes, Interrupted } from "../exit.ts";

/** npm hands on the Ctrl-C that the terminal has already sent to us: two that come together are one. */
const sameKeyMs = 500;

/** Aborts at the first SIGINT or SIGTERM; at the second one calls `abandon` and exits. Gives how to stop listening. */
export function onInterrupt(abort: AbortController, abandon: () => void): () => void {
  let firstAt: number | undefined;
  const interrupt = () => {
    const now = performance.now();
    firstAt ??= now;
    if (now === firstAt) return abort.abort(new Interrupted());
    if (now - firstAt < sameKeyMs) return;
    abandon();
    process.exit(exitCodes.interrupted);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
  return () => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupt);
  };
}
