import type { ArtifactKey } from "../core/index.ts";
import { RepriseError } from "../errors.ts";

/** Nobody can say whether an artifact is kept, or it could not be kept. Never says that it is not there. */
export function unavailable(what: string, { tenant, hash }: ArtifactKey, why: string, cause?: unknown): RepriseError {
  return new RepriseError("ARTIFACTS_UNAVAILABLE", `artifact ${hash} of tenant ${tenant} ${what}: ${why}`, {
    details: { tenant, hash },
    cause,
  });
}

/**
 * Where an artifact lies below the place it is kept in. A namespace or tenant may be called `.` or `..`; the letters before
 * them keep it from meaning anything.
 */
export function pathOf({ namespace, tenant, hash }: ArtifactKey): string {
  return `n.${namespace}/t.${tenant}/${hash}`;
}
