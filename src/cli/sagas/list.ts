/** `reprise sagas list`: the versions that this project has and those that the store knows, and how they fit. */
import type { ServedVersion } from "../../client/index.ts";
import { type RegisteredSaga, registrationOf } from "../../core/index.ts";
import { lintSaga, type Saga } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Column } from "../base/table.ts";
import { exitCodes } from "../exit.ts";
import { declaredSteps, stepsOf } from "./steps.ts";

/** A version of a saga in one structure. */
interface SagaVersion {
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  /** Is it declared in this project, in this structure? */
  readonly inCode: boolean;
  /** Is it registered, in this structure? `null`: no store was asked. */
  readonly registered: "same" | "other" | "no" | null;
  /** Are runs of it open? */
  readonly open: boolean | null;
  /** Living workers that serve it. */
  readonly workers: number | null;
  readonly steps: number | null;
  /** What `reprise lint` says of it. */
  readonly findings: number | null;
}

export const sagasList = command<[], object>({
  name: "sagas list",
  summary: "Sagas and versions: of this project, and those with open runs or workers",
  details: "Without a Redis (--redis, REDIS_URL, reprise.config.ts) those of this project alone.",
  examples: ["reprise sagas list", "reprise sagas list --redis redis://127.0.0.1:6379", "reprise sagas list --json"],
  kinds: ["SagaVersionList", "SagaVersion"],
  run: async (cli) => {
    const { sagas, redis } = await cli.project();
    if (redis === undefined) cli.out.note("No Redis was named: this is what the project says.");
    const items = redis === undefined ? sagas.map((saga) => declared(saga, null)) : await withStore(cli, sagas);
    cli.out.list("SagaVersion", {
      items: items.toSorted((a, b) => (a.saga === b.saga ? a.version - b.version : a.saga < b.saga ? -1 : 1)),
      id: ({ saga, version }) => `${saga}@${version}`,
      columns,
      empty: "There is no saga. Name the modules that export them under `sagas` in reprise.config.ts.",
    });
    return exitCodes.ok;
  },
});

async function withStore(cli: Cli, sagas: readonly Saga[]): Promise<readonly SagaVersion[]> {
  const client = await cli.client();
  const served = await client.served();
  const own = await Promise.all(
    sagas.map(async (saga) => {
      const mine = registrationOf(saga);
      const found = served.find((each) => isSame(each, mine));
      const registered = found?.registered ?? (await client.registered(saga.name, saga.version));
      return declared(saga, { registered, served: found ?? null });
    }),
  );
  const others = served.filter((each) => !own.some((mine) => isSame(each, mine)));
  return [...own, ...others.map(foreign)];
}

type Version = Pick<SagaVersion, "saga" | "version" | "hash">;

function isSame(one: Version, other: Version): boolean {
  return one.saga === other.saga && one.version === other.version && one.hash === other.hash;
}

function declared(
  saga: Saga,
  store: { readonly registered: RegisteredSaga | null; readonly served: ServedVersion | null } | null,
): SagaVersion {
  const { hash } = registrationOf(saga);
  return {
    ...{ saga: saga.name, version: saga.version, hash, inCode: true },
    registered:
      store === null ? null : store.registered === null ? "no" : store.registered.hash === hash ? "same" : "other",
    open: store === null ? null : (store.served?.open ?? false),
    workers: store === null ? null : (store.served?.workers ?? 0),
    steps: declaredSteps(saga).length,
    findings: lintSaga(saga).length,
  };
}

function foreign({ registered, saga, version, hash, open, workers }: ServedVersion): SagaVersion {
  const steps = registered === null ? null : stepsOf({ from: "store", registration: registered, saga: null }).length;
  return {
    saga,
    version,
    hash,
    inCode: false,
    registered: registered === null ? "other" : "same",
    open,
    workers,
    steps,
    findings: null,
  };
}

const columns: readonly Column<SagaVersion>[] = [
  { title: "saga", cell: ({ saga, version }) => [ink("bold", saga), ink("dim", `@${version}`)] },
  { title: "here", cell: ({ inCode }) => (inCode ? "yes" : ink("dim", "no")) },
  { title: "registered", cell: registeredLine },
  { title: "runs", cell: ({ open }) => (open === null ? "?" : open ? "open" : "-") },
  { title: "workers", cell: workersLine, align: "right" },
  { title: "steps", cell: ({ steps }) => (steps === null ? "?" : String(steps)), align: "right" },
  { title: "findings", cell: findingsLine, align: "right" },
  { title: "structure", cell: ({ hash }) => hash, wide: true },
];

function registeredLine({ registered }: SagaVersion): Line {
  if (registered === null) return "?";
  if (registered === "same") return ink("green", "✓ as it is here");
  return registered === "other" ? ink("red", "✗ another structure") : ink("dim", "– not yet");
}

function workersLine({ workers, open }: SagaVersion): Line {
  if (workers === null) return "?";
  return workers === 0 && open === true ? ink("red", "✗ none") : String(workers);
}

function findingsLine({ findings }: SagaVersion): Line {
  if (findings === null) return "?";
  return findings === 0 ? "-" : ink("yellow", String(findings));
}
