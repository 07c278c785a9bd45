/** A saga as it is registered with the store: what its runs are pinned to, and what is compared when that changes. */
import { type Saga, schemasOf, structureOf } from "../../saga/index.ts";
import { structureHashOf } from "../digest.ts";
import type { RegisteredSaga } from "../ports.ts";

const registrations = new WeakMap<Saga, RegisteredSaga>();

/** The same one for the same saga: taking a machine and its schemas apart costs as much as a run of it. */
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
