/**
 * What a run can be searched by: the saga's own function, read where it can be trusted to mean something. Owns that, and
 * that a bug in it parks the run like any other.
 */
import { redact } from "../redact.ts";
import { type Json, toJson } from "../saga/index.ts";
import { type Draft, viewOf } from "./draft.ts";
import { park } from "./people/reviews.ts";
import type { RunRecord } from "./run/index.ts";

/** Read after every transition, and again by mended code when a review is over; never of a run that goes back. */
export function readAttributes(draft: Draft): void {
  const { before, record } = draft;
  const { attributes } = draft.input.machine.saga;
  const { snapshot, unwind } = record;
  if (attributes === null || snapshot === null || unwind !== null) return;
  if (snapshot === before.record.snapshot && before.record.review === null) return;
  const { input, results } = viewOf(draft);
  const context = snapshot.context ?? { input, results };
  const made = attributesFrom(() => attributes({ context, input }));
  if (made.ok) record.attributes = made.value;
  else {
    const message = `attributes: ${made.problem}`;
    park(draft, { reason: "defect", message, seq: null, side: null, evidence: null, verbs: ["retry"] });
  }
}

type Attributes =
  | { readonly ok: true; readonly value: RunRecord["attributes"] }
  | { readonly ok: false; readonly problem: string };

function attributesFrom(make: () => Json): Attributes {
  try {
    const json = toJson(make());
    if (!json.ok) return json;
    const { value } = json;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { ok: false, problem: "not an object" };
    const deep = Object.entries(value).find(([, inner]) => typeof inner === "object" && inner !== null);
    if (deep !== undefined) return { ok: false, problem: `${deep[0]} is neither text, number, boolean nor null` };
    // Neither an array nor null: a JSON object.
    return { ok: true, value: value as RunRecord["attributes"] };
  } catch (error) {
    return { ok: false, problem: redact(error instanceof Error ? error.message : String(error)) };
  }
}
