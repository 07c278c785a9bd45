/** The sagas that a stage and the processes it starts may play, and how the world treats their steps, by name. */
import type { Saga } from "../../src/index.ts";
import type { ServiceProfile } from "../../src/testing/index.ts";
import type { SagaSet } from "./fault-plan.ts";
import { profiles, sagas } from "./fault-sagas.ts";
import { matrixProfiles, matrixSagas } from "./matrix-sagas.ts";

interface Set {
  readonly sagas: readonly Saga[];
  readonly profiles: Readonly<Record<string, ServiceProfile>>;
}

export const sagaSets: Readonly<Record<SagaSet, Set>> = {
  crashes: { sagas: Object.values(sagas), profiles },
  matrix: { sagas: matrixSagas, profiles: matrixProfiles },
};
