/** A saga as it is registered with the store: what its runs are pinned to, and what is compared when that changes. */
import { type Saga, type SagaSpec, schemasOf, structureOf } from "../../saga/index.ts";
import { structureHashOf } from "../digest.ts";
import type { RegisteredSaga } from "../ports.ts";

/** By what a saga is made of, which does not change once it is made: to tell its schemas takes long. */
const registrations = new WeakMap<SagaSpec, RegisteredSaga>();

export function registrationOf(saga: Saga): RegisteredSaga {
  const registration = registrations.get(saga.spec) ?? newRegistration(saga);
  registrations.set(saga.spec, registration);
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
