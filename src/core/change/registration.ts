/** A saga as it is registered with the store: what its runs are pinned to, and what is compared when that changes. */
import { type Saga, schemasOf, structureOf } from "../../saga/index.ts";
import { structureHashOf } from "../digest.ts";
import type { RegisteredSaga } from "../ports.ts";

/** A saga does not change once it is made, and to tell its schemas takes long. */
const registrations = new WeakMap<Saga, RegisteredSaga>();

export function registrationOf(saga: Saga): RegisteredSaga {
  const registration = registrations.get(saga) ?? newRegistration(saga);
  registrations.set(saga, registration);
  return registration;
}

function newRegistration(saga: Saga): RegisteredSaga {
  return {
    saga: saga.name,
    version: saga.version,
    hash: structureHashOf(saga),
    structure: JSON.stringify(structureOf(saga)),
    schemas: JSON.stringify(schemasOf(saga)),
  };
}
