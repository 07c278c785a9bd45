/** A saga as it is registered with the store: what its runs are pinned to, and what is compared when that changes. */
import { type Saga, schemasOf, structureOf } from "../../saga/index.ts";
import { structureHashOf } from "../digest.ts";
import type { RegisteredSaga } from "../ports.ts";

export function registrationOf(saga: Saga): RegisteredSaga {
  return {
    saga: saga.name,
    version: saga.version,
    hash: structureHashOf(saga),
    structure: JSON.stringify(structureOf(saga)),
    schemas: JSON.stringify(schemasOf(saga)),
  };
}
