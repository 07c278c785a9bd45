/** Owns: where colours are shown: on a terminal, unless NO_COLOR or `--no-color` says otherwise; FORCE_COLOR forces them. */
import pc from "picocolors";

export type Colors = ReturnType<typeof pc.createColors>;

export function colorsFor(stream: NodeJS.WriteStream): Colors {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isOff = (NO_COLOR !== undefined && NO_COLOR !== "") || process.argv.includes("--no-color");
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== "" && FORCE_COLOR !== "0";
  return pc.createColors(!isOff && (isForced || (stream.isTTY === true && TERM !== "dumb")));
}
