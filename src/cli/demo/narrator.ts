/**
 * Owns: how the story is told while it runs: on a terminal with one line that changes, elsewhere as plain lines. It goes
 * to stderr, so that stdout holds nothing but the outcome.
 */
import { createLogUpdate } from "log-update";
import { type Colors, colorsFor } from "../colors.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 100;

export interface Narrator {
  readonly colors: Colors;
  /** A line that stays. */
  say(text: string): void;
  /** What is going on right now; shown on a terminal only, until something is said. `null`: nothing. */
  live(text: string | null): void;
  /** Ends the changing line and gives the cursor back. It may be called again. */
  close(): void;
}

export function narrate(stream: NodeJS.WriteStream): Narrator {
  return stream.isTTY === true && process.env["TERM"] !== "dumb" ? onTerminal(stream) : inLines(stream);
}

function inLines(stream: NodeJS.WriteStream): Narrator {
  return {
    colors: colorsFor(stream),
    say: (text) => void stream.write(`${text}\n`),
    live: () => {},
    close: () => {},
  };
}

function onTerminal(stream: NodeJS.WriteStream): Narrator {
  const colors = colorsFor(stream);
  const update = createLogUpdate(stream);
  let text: string | null = null;
  let frame = 0;
  const draw = () => {
    frame = (frame + 1) % frames.length;
    if (text !== null) update(`${colors.cyan(frames[frame] ?? "")} ${colors.dim(text)}`);
  };
  const timer = setInterval(draw, frameMs);
  timer.unref();
  return {
    colors,
    say: (line) => {
      update.clear();
      stream.write(`${line}\n`);
      draw();
    },
    live: (now) => {
      text = now;
      if (now === null) update.clear();
      else draw();
    },
    close: () => {
      clearInterval(timer);
      update.clear();
      update.done();
    },
  };
}
