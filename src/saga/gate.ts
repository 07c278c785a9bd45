/**
 * The gate `approve` of a step, and what `approval()` has in common with it: what people are asked, as its author writes it, and
 * as the terms that core reads for one input. Owns the options, their defaults, and what is wrong about them.
 *
 * Invariants: Q1 an asking can always be approved and rejected. Q2 who says nothing has refused: what nobody decided on in time
 * is rejected unless a person is to look. Q3 terms that are wrong are never read as "nobody needs to be asked".
 */
import { type ZodObject, type ZodType, z } from "zod";
import { type Duration, durationMs } from "./duration.ts";
import type { ApprovalSpec, ApprovalTerms, StepSpec } from "./spec.ts";

/** What may be answered. */
type Allowed = ApprovalTerms["allowed"][number];
interface ViewOf<Input> {
  readonly input: Input;
}

/** The same for every input, or a pure function of it. */
type Per<Input, Value> = Value | ((view: ViewOf<Input>) => Value);

/** How people are asked. */
export interface AskOptions<Input = unknown> {
  /** In plain words, for the person who decides. */
  readonly question?: Per<Input, string>;
  /**
   * Why people are asked, in words: `"more than 500 EUR"`. It is recorded whichever way it went: a text with a `not: ` before it where
   * nobody needed to be asked, what a function gives as it is.
   */
  readonly rule?: Per<Input, string>;
  /** The role, or the roles, one of which may decide; anybody but the requester unless given. */
  readonly by?: Per<Input, string | readonly string[]>;
  /** How many different people must approve: 1. One rejection rejects. */
  readonly quorum?: Per<Input, number>;
  /** The id of who asks for it, and so may not decide on it. */
  readonly requester?: Per<Input, string | null>;
  /** `approve`, `reject` and `ask_back` unless given; `edit`: approve with other arguments. */
  readonly allow?: readonly Allowed[];
  /**
   * What an edit may change, as the schema of those fields: `({ input }) => z.object({ cents: z.int().min(1).max(input.cents) })`. Every
   * field unless given; the step's own schema and the rules of the gate hold for the edited input in any case.
   */
  readonly edits?: Per<Input, ZodObject>;
  /** How long it may be decided on; for ever unless given. */
  readonly expires?: Duration;
  /** What then: it is rejected (default), or the run is parked for a person. */
  readonly onExpire?: "reject" | "review";
  /** Who else may decide when nobody has, counted from when it was asked. */
  readonly escalate?: readonly { readonly after: Duration; readonly to: string | readonly string[] }[];
}

/** What people are asked before a step is carried out, and for which inputs. */
export interface GateOptions<Input = unknown> extends AskOptions<Input> {
  /** Must a person be asked for this input? Always, unless given. A pure function of the input. */
  readonly when?: (view: ViewOf<Input>) => boolean;
}

/** A gate: options, or a function of the input that gives them, or `false` where nobody needs to be asked. */
export type Gate<Input = unknown> =
  | GateOptions<Input>
  | ((view: ViewOf<Input>) => false | null | undefined | AskOptions<Input>);

// ---- as core reads it

/** The gate of a step as core reads it; `kind`: of a step that people carry out there is no call that they are asked about. */
export function approvalSpec(
  name: string,
  gate: Gate,
  form: ZodType | undefined,
  kind: StepSpec["kind"],
): ApprovalSpec {
  const standard = kind === "approval" ? `Is ${name} approved?` : `May ${name} be carried out?`;
  return { form: form ?? null, terms: (view) => termsOf(gate, view, standard) };
}

function termsOf(gate: Gate, view: ViewOf<unknown>, standard: string): ApprovalTerms {
  if (typeof gate === "function") {
    const asked = gate(view);
    const isAsked = isObject(asked);
    if (!isAsked && asked !== false && asked !== null && asked !== undefined) throw new TypeError(noOptions);
    return checkedTerms(isAsked ? asked : {}, view, { standard, asks: isAsked });
  }
  const asks = gate.when === undefined ? true : gate.when(view);
  if (typeof asks !== "boolean") throw new TypeError(`when gives ${String(asks)}; it must give true or false`);
  return checkedTerms(gate, view, { standard, asks });
}

const noOptions = "it gives neither false nor { by, question, ... }";

/** What is asked, where everything that follows from an input has been worked out. */
type Fixed = Omit<AskOptions, "question" | "rule" | "by" | "quorum" | "requester" | "edits"> & {
  readonly question: string | undefined;
  readonly rule: string | undefined;
  readonly by: string | readonly string[] | undefined;
  readonly quorum: number | undefined;
  readonly requester: string | null | undefined;
  readonly edits: ZodObject | undefined;
};

function fixedFor(options: AskOptions, view: ViewOf<unknown>): Fixed {
  const { question, rule, by, quorum, requester, edits } = options;
  return {
    ...options,
    question: per(question, view),
    rule: per(rule, view),
    by: per(by, view),
    quorum: per(quorum, view),
    requester: per(requester, view),
    edits: per(edits, view),
  };
}

function per<Value>(given: Value | ((view: ViewOf<unknown>) => Value), view: ViewOf<unknown>): Value {
  // No value that a gate takes is itself a function.
  return typeof given === "function" ? (given as (view: ViewOf<unknown>) => Value)(view) : given;
}

function checkedTerms(
  options: AskOptions,
  view: ViewOf<unknown>,
  { standard, asks }: { readonly standard: string; readonly asks: boolean },
): ApprovalTerms {
  const fixed = fixedFor(options, view);
  const [problem] = askProblems(fixed);
  if (problem !== undefined) throw new TypeError(problem);
  const { question = standard, rule = null, requester = null, expires, escalate = [] } = fixed;
  const after = escalate.map((each) => ({ afterMs: durationMs(each.after, "escalate.after"), to: listOf(each.to) }));
  return {
    asks,
    rule: asks || rule === null || typeof options.rule === "function" ? rule : `not: ${rule}`,
    question,
    roles: listOf(fixed.by),
    quorum: fixed.quorum ?? 1,
    requester,
    allowed: fixed.allow ?? ["approve", "reject", "ask_back"],
    edits: fixed.edits ?? null,
    expiresMs: expires === undefined ? null : durationMs(expires, "expires"),
    onExpire: fixed.onExpire ?? "reject",
    escalations: after.toSorted((a, b) => a.afterMs - b.afterMs),
  };
}

function listOf(names: string | readonly string[] | undefined): readonly string[] {
  if (names === undefined) return [];
  return typeof names === "string" ? [names] : names;
}

// ---- what is wrong about it

const decisions: readonly unknown[] = ["approve", "edit", "reject", "ask_back"] satisfies readonly Allowed[];
const maxQuorum = 100;

/** Why a gate cannot stand as it is written; of one that is a function, what it gives is judged for each input. */
export function gateProblems(gate: unknown): readonly string[] {
  if (typeof gate === "function") return [];
  if (!isObject(gate)) return ["approve is neither options nor a function of the input"];
  const { when } = gate as GateOptions;
  const asked = askProblems(withoutFunctions(gate));
  return [...(when === undefined || typeof when === "function" ? [] : ["when is no function"]), ...asked];
}

/** What a function gives is judged for each input; until then something stands there that is as good as any. */
function withoutFunctions({ question, rule, by, quorum, requester, edits, ...options }: AskOptions): Fixed {
  return {
    ...options,
    question: typeof question === "function" ? "?" : question,
    rule: typeof rule === "function" ? "?" : rule,
    by: typeof by === "function" ? "?" : by,
    quorum: typeof quorum === "function" ? 1 : quorum,
    requester: typeof requester === "function" ? "?" : requester,
    edits: typeof edits === "function" ? z.object() : edits,
  };
}

function askProblems(options: Fixed): readonly string[] {
  return [...wordProblems(options), ...voterProblems(options), ...answerProblems(options), ...timeProblems(options)];
}

function wordProblems({ question, rule }: Fixed): readonly string[] {
  const words = Object.entries({ question, rule });
  return words.flatMap(([name, said]) => (said === undefined || isText(said) ? [] : [`${name} is no text`]));
}

function voterProblems({ by, quorum = 1, requester = null, escalate = [] }: Fixed): readonly string[] {
  const problems: string[] = [];
  if (by !== undefined && !areNames(by))
    problems.push('by is no role: write by: "finance" or by: ["finance", "board"]');
  if (!Number.isInteger(quorum) || quorum < 1 || quorum > maxQuorum) {
    problems.push(`quorum is a whole number from 1 to ${maxQuorum}; it is ${String(quorum)}`);
  }
  if (requester !== null && !isText(requester)) problems.push("requester is no text");
  if (escalate.length > 0 && by === undefined) problems.push("escalate adds roles, and without by anybody may decide");
  for (const { to } of escalate) if (!areNames(to)) problems.push("escalate.to is no role");
  return problems;
}

function answerProblems({ allow, edits }: Fixed): readonly string[] {
  const problems: string[] = [];
  if (allow !== undefined && !isWhole(allow)) {
    problems.push("allow names approve and reject, and beside them edit and ask_back");
  }
  if (edits === undefined) return problems;
  if (!isObjectSchema(edits)) problems.push("edits is no z.object({ ... })");
  if (allow?.includes("edit") !== true) problems.push("edits says what may be edited, and allow names no edit");
  return problems;
}

function timeProblems({ expires, onExpire = "reject", escalate = [] }: Fixed): readonly string[] {
  const problems = escalate.flatMap(({ after }) => durationProblem(after, "escalate.after"));
  if (expires !== undefined) problems.push(...durationProblem(expires, "expires"));
  if (onExpire !== "reject" && onExpire !== "review") problems.push('onExpire is "reject" or "review"');
  return problems;
}

function isWhole(allow: unknown): boolean {
  if (!Array.isArray(allow) || !allow.every((each) => decisions.includes(each))) return false;
  return allow.includes("approve") && allow.includes("reject");
}

function areNames(names: unknown): boolean {
  const all: readonly unknown[] = Array.isArray(names) ? names : [names];
  return all.length > 0 && all.every(isText);
}

function isObjectSchema(value: unknown): value is ZodObject {
  return isObject(value) && "shape" in value && isObject(value.shape) && "safeParse" in value;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function durationProblem(duration: Duration, what: string): readonly string[] {
  try {
    return durationMs(duration, what) > 0 ? [] : [`${what} is no time at all`];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
