/** Owns: where colours are shown: on a terminal, unless NO_COLOR or `--no-color` says otherwise; FORCE_COLOR forces them. */
import pc from "picocolors";

export type Colors = ReturnType<typeof pc.createColors>;

/** For what writes to the process's own streams. */
export function colorsFor(stream: NodeJS.WriteStream): Colors {
  return colorsIn(stream, process.env, !process.argv.includes("--no-color"));
}

/** `isWanted`: `--no-color` was not given. */
export function colorsIn(
  { isTTY }: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isWanted: boolean,
): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  const isOff = (NO_COLOR !== undefined && NO_COLOR !== "") || !isWanted;
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== "" && FORCE_COLOR !== "0";
  return pc.createColors(!isOff && (isForced || (isTTY === true && TERM !== "dumb")));
}
