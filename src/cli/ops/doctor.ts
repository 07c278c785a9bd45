/** `reprise doctor`: what will hurt one day, and what to do about it. What is a finding is core's (`fleet/findings.ts`). */
import { readFileSync } from "node:fs";
import type { Finding, Installation } from "../../core/index.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { wholeOf } from "../base/values.ts";
import { counted } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

interface Flags {
  readonly production?: true;
  readonly maxKeys?: string;
}

export const doctorCommand = command<[], Flags>({
  name: "doctor",
  summary: "Look at Node, Redis, workers and keys, and say what will hurt one day; changes nothing",
  details: `Versions, eviction, AOF and fsync, replicas, clocks, latency, memory, shards, runs that nobody serves, workers that are not well, keys that
nothing accounts for. A finding is a warning, or unsafe: what was promised may be lost. Exit 9 where there is any; with --production exit 7
where one is unsafe, so that a deploy stops.`,
  options: [
    ["--production", "refuse (exit 7) what is unsafe; expect what production wants"],
    ["--max-keys <n>", "pass so many keys of each Redis at most, looking for orphans; 100000 unless given"],
  ],
  examples: [
    "reprise doctor",
    "reprise doctor --production && kubectl rollout restart deployment/worker",
    "reprise doctor --json | jq -r '.data.findings[] | .id + \": \" + .todo'",
  ],
  kinds: ["DoctorReport"],
  run: async (cli, { production: isProduction = false, maxKeys = "100000" }) => {
    const passes = wholeOf(maxKeys, "--max-keys", 1, 100_000_000);
    const { tenant: _, file: __, services: ___, alerts: ____, ...place } = await cli.place();
    const [{ inspectPlace }, { findingsIn }] = await Promise.all([
      import("../../orchestrator/index.ts"),
      import("../../core/index.ts"),
    ]);
    const seen: Installation = {
      node: { version: process.versions.node, oldest: oldestNode() },
      isProduction,
      ...(await inspectPlace({ ...place, maxKeys: passes, facts: { emit: () => undefined } })),
    };
    const findings = findingsIn(seen);
    const { workers = null, unserved = null } = seen.fleet ?? {};
    const { fleet: _fleet, ...rest } = seen;
    const data = { ok: findings.length === 0, findings, ...rest, workers: workers?.length ?? null, unserved };
    cli.out.document("DoctorReport", data, { lines: () => [...findings.flatMap(linesOf), ...summary(seen, findings)] });
    if (findings.length === 0) return exitCodes.ok;
    const isUnsafe = findings.some(({ severity }) => severity === "unsafe");
    if (!isProduction || !isUnsafe) return exitCodes.findings;
    cli.out.warn([ink("red", "Not safe for production.")]);
    return exitCodes.unsafe;
  },
});

function linesOf({ id, severity, about, seen, expected, todo }: Finding): readonly Line[] {
  const mark = severity === "unsafe" ? ink("red", "✗ unsafe") : ink("yellow", "! warning");
  return [
    [mark, "  ", ink("bold", id), `  ${about}`],
    `    seen        ${seen}`,
    `    expected    ${expected}`,
    `    what to do  ${todo}`,
  ];
}

function summary({ node, servers, shards, keys, fleet }: Installation, findings: readonly Finding[]): readonly Line[] {
  const looked = `${counted(keys.looked, "key")} looked at${keys.isWhole ? "" : " (there are more: --max-keys)"}`;
  const workers = fleet === null ? "workers were not looked at" : counted(fleet.workers.length, "worker");
  const redis = servers.map(({ address, version, medianMs, skewMs }) => {
    return `Redis ${version} at ${address}: PING ${medianMs} ms, its clock ${Math.abs(skewMs)} ms ${skewMs < 0 ? "behind" : "ahead"}`;
  });
  return [
    ...(findings.length === 0
      ? [[ink("green", "✓ nothing found")]]
      : [[ink("bold", counted(findings.length, "finding"))]]),
    `  Node ${node.version}`,
    ...redis.map((line) => `  ${line}`),
    `  ${counted(shards.registered ?? shards.configured, "shard")}, ${workers}, ${looked}`,
  ];
}

/** What package.json says is supported. */
function oldestNode(): string {
  const read: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  const { engines } = read as { readonly engines: { readonly node: string } }; // our own
  return engines.node.replace(/^>=/, "");
}
