/**
 * The schemas of a saga as canonical JSON: of what it starts with, of the events it takes, of what its steps are given and
 * answer. Runs are not pinned to them (`structure.ts`): a change is shown, never refused. Invariant: what two versions of zod
 * or two orders of writing say in different words of the same values is left out or put in one order.
 */
import type { ZodType } from "zod";
import type { Saga } from "./define.ts";
import { jsonSchemaOf } from "./schema.ts";
import type { Json, StepSpec } from "./spec.ts";

/** By what each is the schema of, for people: `input`, `event PAID`, `charge input`, `charge output`. */
export function schemasOf({ spec }: Saga): Readonly<Record<string, Json>> {
  const ofEvents = Object.entries(spec.events).map(([name, schema]) => [`event ${name}`, schema] as const);
  const ofSteps = Object.values(spec.steps).flatMap(stepSchemas);
  const all = [["input", spec.input] as const, ...ofEvents, ...ofSteps];
  return Object.fromEntries(all.map(([name, schema]) => [name, canonical(jsonSchemaOf(schema))]));
}

function stepSchemas({ name, input, output }: StepSpec): readonly (readonly [string, ZodType])[] {
  return [[`${name} input`, input] as const, ...(output === null ? [] : [[`${name} output`, output] as const])];
}

function canonical(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(canonical);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key]) => key !== "$schema" && !(key === "pattern" && "format" in schema),
  );
  const sorted = kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, inOrder(key, canonical(value))]);
  return Object.fromEntries(sorted);
}

/** What is required says nothing by its order. */
function inOrder(key: string, value: Json): Json {
  return key === "required" && Array.isArray(value) ? value.toSorted() : value;
}
