import type { Finding } from "./finding.ts";
import type { SagaSpec } from "./spec.ts";

/** Everything about a saga's machine that cannot be made durable. */
export function machineErrors(_spec: SagaSpec): readonly Finding[] {
  return [];
}
