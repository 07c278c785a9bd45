/** Owns: a part of a terminal that is drawn again and again, and hearing that somebody has had enough of it. */
import type { Input } from "../base/io.ts";

/** In raw mode Ctrl-C and Ctrl-D are keys like any other. */
const ending: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u0004"]);

/** Resolves when `q` or Ctrl-C is pressed, or `signal` is aborted. `close` gives the keyboard back. */
export function enough(stdin: Input, signal: AbortSignal): { readonly pressed: Promise<void>; close(): void } {
  let stop: () => void = () => undefined;
  const pressed = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const onKey = (keys: Buffer | string): void => {
    if ([...String(keys)].some((key) => ending.has(key))) stop();
  };
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  if (stdin.isTTY === true) {
    stdin.setRawMode?.(true);
    stdin.on("data", onKey);
  }
  return {
    pressed,
    close: () => {
      signal.removeEventListener("abort", stop);
      if (stdin.isTTY !== true) return;
      stdin.off("data", onKey);
      stdin.setRawMode?.(false);
      stdin.pause();
    },
  };
}
