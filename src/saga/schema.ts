/**
 * Between JSON and what user code sees. Outside user functions everything is encoded JSON (`z.input` of a schema);
 * inside it is decoded (`z.output`). Owns both directions and the judgement, at definition, whether a schema can be
 * trusted with that. Invariant: nothing here is asynchronous, nothing here throws because of a value.
 */
import { type ZodType, z } from "zod";
import { redact } from "../redact.ts";
import { type Checked, toJson } from "./json.ts";
import type { Json, StepSpec } from "./spec.ts";

/** Checks JSON against a schema and gives what user code sees. */
export function decode(schema: ZodType, json: Json): Checked<unknown> {
  return attempt(() => {
    const parsed = schema.safeParse(json);
    return parsed.success ? { ok: true, value: parsed.data } : { ok: false, problem: issuesOf(parsed.error) };
  });
}

/** Checks what user code gave against a schema and gives the JSON that is stored. */
export function encode(schema: ZodType, value: unknown): Checked<Json> {
  return attempt(() => {
    // Forwards is several times faster (zod compiles it), and the same where no part of the schema has a direction.
    const parsed = isSymmetric(schema) ? schema.safeParse(value) : z.safeEncode(schema, value);
    return parsed.success ? toJson(parsed.data) : { ok: false, problem: issuesOf(parsed.error) };
  });
}

/** A step's input as its functions see it, from JSON. */
export function decodeInput(spec: StepSpec, json: Json): Checked<unknown> {
  return decode(spec.input, json);
}

/** A step's input as it is stored, from what its functions see. */
export function encodeInput(spec: StepSpec, value: unknown): Checked<Json> {
  return encode(spec.input, value);
}

/** A step's output as its compensation sees it, from JSON; `null` where the step has no output schema. */
export function decodeOutput(spec: StepSpec, json: Json): Checked<unknown> {
  return spec.output === null ? { ok: true, value: null } : decode(spec.output, json);
}

/** A step's output as it is stored, from what its action or probe gave; `null` where the step has no output schema. */
export function encodeOutput(spec: StepSpec, value: unknown): Checked<Json> {
  return spec.output === null ? { ok: true, value: null } : encode(spec.output, value);
}

function attempt<Value>(parse: () => Checked<Value>): Checked<Value> {
  try {
    return parse();
  } catch (error) {
    // A refinement or transform of the user's that throws, or turns out to be asynchronous.
    return { ok: false, problem: redact(error instanceof Error ? error.message : String(error)) };
  }
}

function issuesOf(error: z.core.$ZodError): string {
  return error.issues
    .map((issue) => (issue.path.length === 0 ? issue.message : `${z.core.toDotPath(issue.path)}: ${issue.message}`))
    .join("; ");
}

/** The JSON schema of a schema's encoded side. */
export function jsonSchemaOf(schema: ZodType): Json {
  // It is made to be written as JSON.
  return JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: "input" }))) as Json;
}

/** Which way a schema is used: an input is only decoded, an output is encoded and decoded. */
export type SchemaUse = "decoded" | "both";

/** Why a schema cannot stand between JSON and user code; empty: it can. */
export function schemaProblems(schema: unknown, use: SchemaUse): readonly string[] {
  if (!isSchema(schema)) return ["it is not a zod schema"];
  const parts = partsOf(schema);
  const problems: string[] = [];
  if (parts.some(isAsync)) problems.push("it has an asynchronous part; checks and codecs must be synchronous");
  const oneWay = use === "both" ? parts.find((part) => oneWayTypes.has(part._zod.def.type)) : undefined;
  if (oneWay !== undefined) {
    problems.push(`it has a one-way part (${oneWay._zod.def.type}) and cannot be encoded; use z.codec() instead`);
  }
  const unlike = jsonSchemaProblem(schema);
  if (unlike !== null) problems.push(`its encoded side is not JSON (${unlike}); put a z.codec() in between`);
  return problems;
}

/** Why a schema cannot describe an event's payload, which the machine sees beside the event's type; `null`: it can. */
export function payloadProblem(schema: ZodType): string | null {
  const json = z.toJSONSchema(schema, { io: "input" });
  const branches = json.anyOf ?? json.oneOf ?? json.allOf ?? [json];
  const isObject = branches.every(
    (branch) => typeof branch === "object" && (branch.type === "object" || "$ref" in branch),
  );
  if (!isObject) return "is not an object; wrap it: z.object({ value: ... })";
  const hasType = branches.some(
    (branch) => typeof branch === "object" && Object.hasOwn(branch.properties ?? {}, "type"),
  );
  return hasType ? 'has a property "type", which is the event\'s own; rename it' : null;
}

function jsonSchemaProblem(schema: ZodType): string | null {
  try {
    z.toJSONSchema(schema, { io: "input" });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Part = z.core.$ZodType;

function isSchema(value: unknown): value is ZodType {
  return typeof value === "object" && value !== null && "_zod" in value && "safeParse" in value;
}

/** `encode` throws on these. */
const oneWayTypes: ReadonlySet<string> = new Set(["transform", "success", "promise"]);
/** Decoding and encoding differ on these. */
const directedTypes: ReadonlySet<string> = new Set(["pipe", "transform", "default", "prefault", "catch", "lazy"]);

const symmetric = new WeakMap<ZodType, boolean>();

function isSymmetric(schema: ZodType): boolean {
  const known = symmetric.get(schema);
  if (known !== undefined) return known;
  const answer = !partsOf(schema).some((part) => directedTypes.has(part._zod.def.type));
  symmetric.set(schema, answer);
  return answer;
}

/** The schema and every schema it is made of. */
function partsOf(schema: Part): readonly Part[] {
  const found = new Set<Part>([schema]);
  // A set may grow while it is walked.
  for (const part of found) {
    const def: unknown = part._zod.def;
    collect(def, found, 0);
    if (part._zod.def.type === "lazy") collect((part as z.core.$ZodLazy)._zod.innerType, found, 0);
  }
  return [...found];
}

function collect(value: unknown, found: Set<Part>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > 3) return;
  if ("_zod" in value && isPart(value)) {
    found.add(value);
    return;
  }
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return;
  for (const inner of Object.values(value)) collect(inner, found, depth + 1);
}

function isPart(value: object & { _zod: unknown }): value is Part {
  const internals = value._zod;
  return typeof internals === "object" && internals !== null && "run" in internals;
}

/** Has it a function that is declared `async`? One that hides behind a wrapper is told when it is first run. */
function isAsync(part: Part): boolean {
  const def: object = part._zod.def;
  const checks = "checks" in def && Array.isArray(def.checks) ? (def.checks as readonly z.core.$ZodCheck[]) : [];
  const functions: unknown[] = [...Object.values(def), ...checks.flatMap((check) => Object.values(check._zod.def))];
  return part._zod.def.type === "promise" || functions.some(isAsyncFunction);
}

function isAsyncFunction(value: unknown): boolean {
  return typeof value === "function" && value.constructor.name === "AsyncFunction";
}
