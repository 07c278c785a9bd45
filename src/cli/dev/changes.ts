/** What has changed in a project's folder, told in bunches: an editor writes a file in several steps, a checkout many files. */
import { basename } from "node:path";

export interface Changes {
  /** The next bunch, also of what has changed since the last one was told; empty when it was stopped. */
  next(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** A bunch is over when nothing has changed for so long. */
const quietMs = 150;

/** Resolves when it is watching: what changes from then on is told. */
export async function changesIn(folder: string, signal: AbortSignal): Promise<Changes> {
  // Loaded when it is wanted: no other command watches anything.
  const { watch } = await import("chokidar");
  const seen = new Set<string>();
  let tell: (() => void) | null = null;
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { ignored: (path) => path !== folder && isIgnored(path), ignoreInitial: true });
  watcher.on("all", (_, path) => {
    seen.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => tell?.(), quietMs);
  });
  const stopped = () => tell?.();
  signal.addEventListener("abort", stopped);
  await new Promise<void>((resolve, reject) => watcher.once("ready", resolve).once("error", reject));
  return {
    next: async () => {
      await new Promise<void>((resolve) => {
        tell = resolve;
        if (signal.aborted) resolve();
        else if (seen.size > 0) {
          clearTimeout(timer);
          timer = setTimeout(resolve, quietMs);
        }
      });
      const changed = signal.aborted ? [] : [...seen];
      seen.clear();
      return changed;
    },
    stop: async () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stopped);
      await watcher.close();
    },
  };
}

function isIgnored(path: string): boolean {
  const name = basename(path);
  return name === "node_modules" || name.startsWith(".");
}
