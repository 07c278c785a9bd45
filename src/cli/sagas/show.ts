/** `reprise sagas show`: one version of a saga: its steps with what a repeat of each would mean, its bounds, its events, what lint says. */
import { structureChanges } from "../../core/index.ts";
import { type Finding, formatFinding, lintSaga, type Saga } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { tableLines } from "../base/table.ts";
import { lengthText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { type FoundSaga, findSaga, nameArg, type Where } from "./find.ts";
import { type StepView, stepColumns, stepsOf } from "./steps.ts";

interface SagaView {
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  readonly from: Where;
  readonly steps: readonly StepView[];
  /** Events that may come from outside. */
  readonly events: readonly string[];
  /** Names of its schemas: `reprise schema` prints them. */
  readonly schemas: readonly string[];
  /** `null`: from the store, which does not keep it. */
  readonly pool: string | null;
  readonly deadlineMs: number | null;
  readonly unwind: string | null;
  /** Versions whose runs it can take over. */
  readonly migratesFrom: readonly number[];
  readonly findings: readonly Finding[];
  /** What is different from what is registered; `null`: nothing is, or no store was asked. */
  readonly changes: readonly string[] | null;
}

export const sagasShow = command<[name: string], object>({
  name: "sagas show",
  summary:
    "One version of a saga: steps and their effect classes, events, bounds, findings, and how it differs from what is registered",
  args: [nameArg],
  examples: [
    "reprise sagas show order",
    "reprise sagas show order@1 --json",
    "reprise sagas show store:order@1 --redis redis://127.0.0.1:6379",
  ],
  kinds: ["Saga"],
  run: async (cli, _, name) => {
    const found = await findSaga(cli, name);
    const view = viewOf(found, await changesOf(cli, found));
    cli.out.document("Saga", view, { id: `${view.saga}@${view.version}`, lines: () => linesOf(cli, view) });
    return exitCodes.ok;
  },
});

async function changesOf(cli: Cli, { saga, registration }: FoundSaga): Promise<readonly string[] | null> {
  const { redis } = await cli.project();
  if (saga === null || redis === undefined) return null;
  const registered = await (await cli.client()).registered(saga.name, saga.version);
  return registered === null ? null : structureChanges(registered, registration);
}

function viewOf(found: FoundSaga, changes: SagaView["changes"]): SagaView {
  const { saga, version, hash, structure, schemas } = found.registration;
  // Both texts are of this library, here or in another process.
  const { events } = JSON.parse(structure) as { readonly events: readonly string[] };
  const names = schemas === "" ? [] : Object.keys(JSON.parse(schemas) as object);
  return {
    saga,
    version,
    hash,
    from: found.from,
    steps: stepsOf(found),
    events,
    schemas: names,
    ...declaredOf(found.saga),
    changes,
  };
}

function declaredOf(saga: Saga | null): Pick<SagaView, "pool" | "deadlineMs" | "unwind" | "migratesFrom" | "findings"> {
  if (saga === null) return { pool: null, deadlineMs: null, unwind: null, migratesFrom: [], findings: [] };
  const { pool, deadline, unwind, migrations } = saga.spec;
  return {
    pool,
    deadlineMs: deadline?.ms ?? null,
    unwind,
    migratesFrom: Object.keys(migrations).map(Number),
    findings: lintSaga(saga),
  };
}

function linesOf({ out }: Cli, view: SagaView): readonly Line[] {
  const { saga, version, hash, from, events, schemas, pool, deadlineMs, unwind, migratesFrom, findings, changes } =
    view;
  const facts: readonly (readonly [string, string | null])[] = [
    ["structure", hash],
    ["events", events.length === 0 ? null : events.join(", ")],
    ["pool", pool],
    ["deadline", deadlineMs === null ? null : lengthText(deadlineMs)],
    ["unwind", unwind],
    ["moves from", migratesFrom.length === 0 ? null : migratesFrom.map((each) => `${saga}@${each}`).join(", ")],
    ["schemas", schemas.length === 0 ? null : schemas.join(", ")],
  ];
  return [
    [ink("bold", `${saga}@${version}`), ink("dim", from === "code" ? "  in this project" : "  as it is registered")],
    ...facts.flatMap(([name, value]): readonly Line[] =>
      value === null ? [] : [[ink("dim", `  ${name.padEnd(11)}`), value]],
    ),
    "",
    ...tableLines(view.steps, stepColumns, out.plain),
    ...(findings.length === 0 ? [] : ["", ...findings.map((each): Line => [ink("yellow", "! "), formatFinding(each)])]),
    ...changeLines(changes),
  ];
}

function changeLines(changes: SagaView["changes"]): readonly Line[] {
  if (changes === null) return [];
  if (changes.length === 0) return ["", [ink("green", "✓ "), "registered as it is here"]];
  return ["", [ink("red", "✗ "), "different from what is registered:"], ...changes.map((change) => `  ${change}`)];
}
