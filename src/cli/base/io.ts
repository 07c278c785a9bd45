/**
 * What a command may know of the process it runs in: streams, environment, folder, Ctrl-C. In tests it is made up, so that a
 * command runs in the test's own process.
 */
import type { Readable, Writable } from "node:stream";

/** A stream that may be a terminal. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
export type Input = Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };

export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborted by Ctrl-C, and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
}
