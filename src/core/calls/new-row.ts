/**
 * A new ledger row: a step that the machine invokes, or a tool that an action asks for. Owns what a row is before anything
 * was done about it, and its business key.
 */
import { redact } from "../../redact.ts";
import { type Checked, decodeInput, type Json, type StepSpec, toJson } from "../../saga/index.ts";
import { repeatOf } from "../bounds/loops.ts";
import { type Draft, putRow } from "../draft.ts";
import { newCall } from "../rows.ts";
import type { Row, RowIntent } from "../run/index.ts";

type Asked = Pick<Row, "invoke" | "region" | "regionEntry" | "input" | "tool"> & {
  readonly step: StepSpec;
  readonly key: Json;
  /** An item of a list. */
  readonly isItem?: true;
};

/** Adds a row and answers its seq. */
export function addRow(draft: Draft, { step, key, isItem, invoke, region, regionEntry, input, tool }: Asked): number {
  const seq = draft.rows.length + 1;
  const repeat = isItem ? 1 : repeatOf(draft, step, input);
  const earlier = draft.rows.findLast((row) => row.step === step.name);
  // Named one by one: what is spread from a rest has no shape that V8 could keep, here and in every copy of the row.
  const row: Row = {
    invoke,
    region,
    regionEntry,
    input,
    tool,
    seq,
    kind: step.kind,
    step: step.name,
    occurrence: (earlier?.occurrence ?? 0) + 1,
    call: newCall(step.effect, draft.input.now),
    intent: key === null ? null : newIntent(key),
    progress: null,
    output: null,
    unusable: false,
    abandoned: false,
    told: null,
    undo: null,
    approval: null,
    child: null,
    dueBy: dueBy(draft, step),
    reference: null,
  };
  putRow(draft, repeat === 1 ? row : { ...row, repeat });
  draft.record.rows = seq;
  return seq;
}

/** When a row of this step that is asked for now is to be over. */
export function dueBy({ input }: Draft, { deadlineMs }: StepSpec): number | null {
  return deadlineMs === null ? null : input.now + deadlineMs;
}

/** A business key that nobody has asked for yet. */
export function newIntent(key: Json): RowIntent {
  return { key, state: "free", claim: 0, owner: null, theirs: null, since: null, said: null };
}

/**
 * The business key that a step gives a call with this input, or `given` where its caller says one; `null`: none. Nothing
 * that leaves no effect has one.
 */
export function keyOf(step: StepSpec, input: Json, given: Json): Checked<Json> {
  if (step.effect === "none") return { ok: true, value: null };
  if (given !== null || step.intent === null) return { ok: true, value: given };
  const decoded = decodeInput(step, input);
  if (!decoded.ok) return decoded;
  try {
    const key = toJson(step.intent({ input: decoded.value }));
    if (!key.ok) return { ok: false, problem: `its intent is not JSON: ${key.problem}` };
    return key.value === null ? { ok: false, problem: "its intent is null, which tells nothing apart" } : key;
  } catch (error) {
    return { ok: false, problem: `its intent cannot be computed: ${redact(String(error))}` };
  }
}
