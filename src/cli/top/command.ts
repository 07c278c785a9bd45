/** `reprise top`: a namespace at one glance, drawn again every few seconds. */
import type { Overview } from "../../client/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import type { Line } from "../base/ink.ts";
import { durationOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";
import { frameOf } from "./frame.ts";
import { enough } from "./screen.ts";

interface Flags {
  readonly once?: true;
  readonly every?: string;
}

const usualEveryMs = 2_000;
const leastEveryMs = 200;

export const topCommand = command<[], Flags>({
  name: "top",
  summary: "The namespace live: runs, pace, backlog, workers, what needs somebody",
  details: `Runs are those of the tenant; all else is of all tenants. pace is what workers say they did within their last five seconds. q or Ctrl-C
ends it. Without a terminal, with --once or --json it is shown once.`,
  options: [
    ["--once", "show it once and end"],
    ["--every <duration>", "how often it is drawn again (2s)"],
  ],
  examples: ["reprise top", "reprise top --every 500ms --tenant acme", "reprise top --once --json | jq .data.backlog"],
  kinds: ["Overview"],
  run: async (cli, { once, every }) => {
    const everyMs = every === undefined ? usualEveryMs : Math.max(durationOf(every, "--every"), leastEveryMs);
    const { tenant, namespace = "default" } = await cli.place();
    const look = async () => (await cli.client()).overview(tenant);
    if (once === true || !cli.out.isLive) {
      const seen = await cli.unlessInterrupted(look());
      const shape = { columns: cli.io.stdout.isTTY === true ? cli.out.width : Number.POSITIVE_INFINITY, rows: null };
      cli.out.document("Overview", seen, { lines: () => frameOf(seen, namespace, shape) });
      return exitCodes.ok;
    }
    await live(cli, everyMs, look, (seen) => {
      // A terminal without a size says 0. The last line stays free: the cursor stands there.
      const rows = cli.io.stdout.rows || null;
      return frameOf(seen, namespace, { columns: cli.out.width, rows: rows === null ? null : rows - 1 });
    });
    return exitCodes.ok;
  },
});

async function live(
  cli: Cli,
  everyMs: number,
  look: () => Promise<Overview>,
  frame: (seen: Overview) => readonly Line[],
): Promise<void> {
  const screen = await cli.out.screen();
  const { pressed, close } = enough(cli.io.stdin, cli.signal);
  const stopped = pressed.then(() => null);
  try {
    for (;;) {
      const seen = await Promise.race([look(), stopped]);
      if (seen === null) return;
      screen.show(frame(seen));
      let timer: NodeJS.Timeout | undefined;
      const later = new Promise<true>((resolve) => {
        timer = setTimeout(resolve, everyMs, true);
      });
      const goesOn = await Promise.race([later, stopped]).finally(() => clearTimeout(timer));
      if (goesOn === null) return;
    }
  } finally {
    close();
    screen.close();
  }
}
