/** Owns: how a version of a saga is named (`order`, `order@2`, `code:order@2`, `store:order@2`), and finding it in this project or in the store. */
import { type RegisteredSaga, registrationOf } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Saga } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { UsageError } from "../exit.ts";

export type Where = "code" | "store";

/** A version of a saga: what is told of it whoever has it, and its declaration where that is in this project. */
export interface FoundSaga {
  readonly from: Where;
  readonly registration: RegisteredSaga;
  /** `null`: it is from the store. */
  readonly saga: Saga | null;
}

export const nameArg = [
  "<name>",
  "a saga: its newest version in this project, or name@version; store:name@version is the registered one",
] as const;

interface SagaName {
  readonly where: Where | null;
  readonly name: string;
  readonly version: number | null;
}

/** Throws UsageError. */
export function readSagaName(text: string): SagaName {
  const [, where, name, version] = /^(?:(code|store):)?([A-Za-z][\w-]{0,63})(?:@([1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (name === undefined)
    throw new UsageError(`${text} names no saga: write order, order@2, code:order@2 or store:order@2`);
  return {
    where: where === "code" || where === "store" ? where : null,
    name,
    version: version === undefined ? null : Number(version),
  };
}

/** In this project, else in the store, where one is named. Throws SAGA_UNKNOWN, UsageError. */
export async function findSaga(cli: Cli, text: string): Promise<FoundSaga> {
  const wanted = readSagaName(text);
  const { sagas, redis } = await cli.project();
  const saga = wanted.where === "store" ? null : inCode(sagas, wanted);
  if (saga !== null) return { from: "code", registration: registrationOf(saga), saga };
  const registration = wanted.where === "code" || redis === undefined ? null : await inStore(cli, wanted);
  if (registration !== null) return { from: "store", registration, saga: null };
  const known = sagas.map(({ name, version }) => `${name}@${version}`);
  const looked = redis === undefined ? "; no Redis was named, so nothing was asked of it" : "";
  throw new RepriseError(
    "SAGA_UNKNOWN",
    `there is no saga ${text}; this project has ${known.join(", ") || "none"}${looked}`,
    {
      details: { wanted: text, known },
    },
  );
}

/** A saga whose declaration is needed. Throws SAGA_UNKNOWN, UsageError. */
export async function findDeclared(cli: Cli, text: string): Promise<Saga> {
  const { where, ...wanted } = readSagaName(text);
  if (where === "store")
    throw new UsageError(`${text}: it is the declaration that is needed, which is in a project alone`);
  const { sagas } = await cli.project();
  const saga = inCode(sagas, wanted);
  if (saga !== null) return saga;
  const known = sagas.map(({ name, version }) => `${name}@${version}`);
  throw new RepriseError("SAGA_UNKNOWN", `this project has no saga ${text}; it has ${known.join(", ") || "none"}`, {
    details: { wanted: text, known },
  });
}

function inCode(sagas: readonly Saga[], { name, version }: Omit<SagaName, "where">): Saga | null {
  const fitting = sagas.filter((saga) => saga.name === name && (version === null || saga.version === version));
  return fitting.toSorted((a, b) => b.version - a.version)[0] ?? null;
}

async function inStore(cli: Cli, { name, version }: SagaName): Promise<RegisteredSaga | null> {
  const client = await cli.client();
  const wanted = version ?? (await client.served()).filter(({ saga }) => saga === name).at(-1)?.version;
  return wanted === undefined ? null : await client.registered(name, wanted);
}
