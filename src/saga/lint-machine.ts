/** All rules over one machine. Owns how a rule's word becomes a finding. */
import type { Finding } from "./finding.ts";
import { type Graph, graphOf, pathOf, type Say } from "./inspect.ts";
import { judgeActors } from "./lint-actors.ts";
import { judgeNames } from "./lint-names.ts";
import { judgeShape } from "./lint-shape.ts";
import { warn } from "./lint-warnings.ts";
import type { SagaSpec } from "./spec.ts";

/** Everything about a saga's machine that cannot be made durable. */
export function machineErrors(spec: SagaSpec): readonly Finding[] {
  return gather(spec, "error", (graph, say) => {
    judgeActors(graph, say);
    judgeNames(graph, say);
    judgeShape(graph, say);
  });
}

/** Everything about a saga's machine that its author should look at twice. */
export function machineWarnings(spec: SagaSpec): readonly Finding[] {
  return gather(spec, "warning", (graph, say) => warn(spec, graph, say));
}

function gather(spec: SagaSpec, level: Finding["level"], judge: (graph: Graph, say: Say) => void): readonly Finding[] {
  const findings = new Map<string, Finding>();
  judge(graphOf(spec.machine), (code, node, message, fix) => {
    const state = node === null ? null : pathOf(node);
    const finding: Finding = { level, code, saga: spec.name, state, step: null, message, fix };
    // The same word on the same state is said once.
    findings.set(`${code}|${state}|${message}`, finding);
  });
  return [...findings.values()];
}
