/**
 * Taking a run from one version of a saga to the next by the author's own functions. Owns: in which order they are called,
 * and that none of them can do harm: each is given a copy, must give JSON back, and is stopped when it does not come to an end.
 */
import { Script } from "node:vm";
import { redact } from "../redact.ts";
import { type Checked, toJson } from "./json.ts";
import type { Json, MigratedRun, Migration, SagaSpec } from "./spec.ts";

/** The longest that one migration may take. */
const migrationMs = 1_000;

/** The run as the newest of these versions has it, or why not: `{ value, context, input }` through every version between. */
export function migrateThrough(saga: SagaSpec, from: number, run: MigratedRun): Checked<MigratedRun> {
  let current = run;
  for (let version = from; version < saga.version; version += 1) {
    const migration = saga.migrations[version];
    const step = `from version ${version} to ${version + 1}`;
    if (migration === undefined) return { ok: false, problem: `${saga.name} has no migration ${step}` };
    const next = migrateOnce(migration, current);
    if (!next.ok) return { ok: false, problem: `the migration ${step} ${next.problem}` };
    current = next.value;
  }
  return { ok: true, value: current };
}

function migrateOnce(migration: Migration, run: MigratedRun): Checked<MigratedRun> {
  try {
    const given: unknown = bounded(() => migration(structuredClone(run)));
    if (typeof given !== "object" || given === null) return { ok: false, problem: "gave no { value, context, input }" };
    const parts = ["value", "context", "input"].map((part) => partOf(given, part));
    const wrong = parts.find((part) => !part.ok);
    if (wrong !== undefined && !wrong.ok) return wrong;
    const [value, context, input] = parts.map((part) => (part.ok ? part.value : null)) as [Json, Json, Json];
    return { ok: true, value: { value, context, input } };
  } catch (error) {
    return { ok: false, problem: `threw: ${redact(error instanceof Error ? error.message : String(error))}` };
  }
}

function partOf(given: object, part: string): Checked<Json> {
  if (!Object.hasOwn(given, part)) return { ok: false, problem: `gave no ${part}` };
  const json = toJson((given as Readonly<Record<string, unknown>>)[part]);
  return json.ok ? json : { ok: false, problem: `gave a ${part} that is not JSON: ${json.problem}` };
}

/** The one way to stop synchronous code is V8's own: it runs within a script that has a time limit. */
function bounded<Result>(call: () => Result): Result {
  try {
    // What the script gives is what `call` gives.
    return new Script("call()").runInNewContext({ call }, { timeout: migrationMs }) as Result;
  } catch (error) {
    const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
    if (code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new Error(`it did not come to an end within ${migrationMs} ms`);
  }
}
