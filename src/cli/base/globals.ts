/** Owns: the flags that every command takes, what they mean, and which do not go together. */
import type { Command } from "commander";
import { UsageError } from "../exit.ts";
import { durationOf } from "./values.ts";

export const formats = ["table", "wide", "json", "jsonl", "id"] as const;
export type Format = (typeof formats)[number];

export interface Globals {
  readonly format: Format;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly color: boolean;
  /** Show what looks like a credential. */
  readonly reveal: boolean;
  readonly config: string | undefined;
  readonly redis: string | undefined;
  readonly namespace: string | undefined;
  readonly tenant: string | undefined;
  /** Who acts. */
  readonly by: string | undefined;
  readonly reason: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly yes: boolean;
  readonly dryRun: boolean;
  /** Nobody is asked anything. */
  readonly noInput: boolean;
}

/** By their groups in the help. */
export const globalOptions: readonly (readonly [flags: string, about: string])[] = [
  ["--json", "print one JSON document (-o json)"],
  ["--jsonl", "print one JSON document a line (-o jsonl)"],
  ["-o, --output <format>", `${formats.join(", ")}; table unless given`],
  ["-q, --quiet", "no remarks on stderr"],
  ["--verbose", "more remarks on stderr"],
  ["--no-color", "no colours (NO_COLOR=1)"],
  ["--reveal", "show what looks like a credential"],
  ["--config <file>", "instead of the reprise.config.ts found upward from here"],
  ["--redis <url>", "where Redis is (REDIS_URL)"],
  ["--namespace <name>", "which installation on it (REPRISE_NAMESPACE)"],
  ["--tenant <name>", "whose runs (REPRISE_TENANT)"],
  ["--by <name>", "who acts; it stands in the log (REPRISE_BY, or the user of this process)"],
  ["--reason <text>", "why; it stands in the log"],
  ["--timeout <duration>", "how long to wait: 500ms, 30s, 5m, 2h"],
  ["-y, --yes", "do not ask whether it is meant"],
  ["--dry-run", "say what would be done, and do nothing"],
  ["--no-input", "ask nothing: fail naming the flag"],
];

export function addGlobals(program: Command): void {
  for (const [flags, about] of globalOptions) program.option(flags, about);
}

/** What commander makes of them. */
interface Given {
  readonly json?: true;
  readonly jsonl?: true;
  readonly output?: string;
  readonly quiet?: true;
  readonly verbose?: true;
  readonly color: boolean;
  readonly reveal?: true;
  readonly config?: string;
  readonly redis?: string;
  readonly namespace?: string;
  readonly tenant?: string;
  readonly by?: string;
  readonly reason?: string;
  readonly timeout?: string;
  readonly yes?: true;
  readonly dryRun?: true;
  readonly input: boolean;
}

/** Throws UsageError. */
export function globalsOf(program: Command): Globals {
  const given = program.opts<Given>();
  const { quiet = false, verbose = false, reveal = false, yes = false, dryRun = false, timeout } = given;
  if (quiet && verbose) throw new UsageError("--quiet or --verbose, not both");
  return {
    ...{ quiet, verbose, reveal, yes, dryRun, color: given.color, noInput: !given.input },
    format: formatOf(given),
    config: given.config,
    redis: given.redis,
    namespace: given.namespace,
    tenant: given.tenant,
    by: given.by,
    reason: given.reason,
    timeoutMs: timeout === undefined ? undefined : durationOf(timeout, "--timeout"),
  };
}

function formatOf({ json, jsonl, output }: Given): Format {
  const wanted = [...(json ? ["json"] : []), ...(jsonl ? ["jsonl"] : []), ...(output === undefined ? [] : [output])];
  const [format = "table", other] = [...new Set(wanted)];
  if (other !== undefined) throw new UsageError(`one form of output, not both ${format} and ${other}`);
  const known = formats.find((each) => each === format);
  if (known === undefined) throw new UsageError(`--output is ${formats.join(", ")}, not ${format}`);
  return known;
}
