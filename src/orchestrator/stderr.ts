/** Where lines and troubles go when nobody asks for them. */
import type { Fact, Facts } from "../core/index.ts";
import { type StepLine, systemClock } from "../engine/index.ts";
import { redact, redactFields } from "../redact.ts";

/** One trouble is not repeated within this. */
const quietMs = 10_000;

const maxRemembered = 1_000;

export function troublesToStderr(): Facts {
  const said = new Map<string, number>();
  return {
    emit: (fact) => {
      const line = lineOf(fact);
      if (line === null) return;
      const now = systemClock.monotonicMs();
      if (now - (said.get(line) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
      if (said.size >= maxRemembered) said.clear();
      said.set(line, now);
      console.error(line);
    },
  };
}

function lineOf(fact: Fact): string | null {
  switch (fact.fact) {
    case "committed":
    case "created":
    case "existed":
    case "acquired":
    case "call":
    case "fenced":
    case "stale":
    case "lease_lost":
    case "purged":
    case "notified":
      return null;
    case "structure_replaced":
      return JSON.stringify({ level: "info", ...fact });
    case "saga_paused":
    case "saga_resumed":
      return null;
    case "budget":
    case "schemas_changed":
    case "unserved":
    case "recovered":
    case "trouble":
      return JSON.stringify({ level: "warn", ...fact });
  }
}

export function troubleOf(where: string, error: unknown): Fact {
  return { fact: "trouble", where, message: redact(error instanceof Error ? error.message : String(error)) };
}

export function logToStderr({ level, message, facts, run, step, operationId }: StepLine): void {
  const { level: level_, message: message_, ...others } = facts;
  const about = { run: run.id, tenant: run.tenant, step, operationId };
  console.error(
    JSON.stringify({ level, message: redact(message), ...redactFields({ ...others, level_, message_ }), ...about }),
  );
}
