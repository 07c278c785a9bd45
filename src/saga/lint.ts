/** Reading sagas without running them: what `reprise lint` prints. The rules are those of `lint-machine.ts`. */
import { isSaga, type Saga } from "./define.ts";
import type { Finding } from "./finding.ts";
import { machineErrors, machineWarnings } from "./lint-machine.ts";

/** Errors and warnings of one saga. A saga that exists has no errors: those refused it when it was declared. */
export function lintSaga(saga: Saga): readonly Finding[] {
  return [...machineErrors(saga.spec), ...machineWarnings(saga.spec)];
}

/** The findings of every saga among a module's exports, alone or in a list; one exported twice is read once. */
export function lintExports(moduleExports: Readonly<Record<string, unknown>>): readonly Finding[] {
  const values = Object.values(moduleExports).flatMap((value): readonly unknown[] =>
    Array.isArray(value) ? value : [value],
  );
  return [...new Set(values.filter(isSaga))].flatMap(lintSaga);
}
