/**
 * What an action has in hand as `tools`: one function for each step it uses. Owns how a request is put and how an answer
 * reads to its author; matching and judging are core's.
 */
import { RepriseError } from "../errors.ts";
import type { Json, StepSpec, ToolOptions } from "../saga/index.ts";
import { boundedJson } from "./outcome.ts";
import { leaseLost } from "./receipts.ts";
import type { ToolRequest, ToolWord } from "./tool-desk.ts";

type Erased = (input: unknown, options?: ToolOptions) => Promise<Json>;

export interface ToolsParts {
  readonly step: StepSpec;
  readonly maxPayloadBytes: number;
  readonly request: (
    tool: StepSpec,
    asked: Pick<ToolRequest["ask"], "tool" | "input" | "key" | "intent">,
  ) => Promise<ToolWord>;
  /** Nobody can answer now: the action is given up and made again later. */
  readonly suspend: (why: string) => void;
}

const nothing: Readonly<Record<string, Erased>> = Object.freeze({});

export function toolsOf(parts: ToolsParts): Readonly<Record<string, Erased>> {
  const entries = Object.entries(parts.step.uses);
  if (entries.length === 0) return nothing;
  return Object.fromEntries(
    entries.map(
      ([name, tool]) => [name, (input, options = {}) => callTool(parts, name, tool, input, options)] as const,
    ),
  ) as Readonly<Record<string, Erased>>;
}

async function callTool(
  { maxPayloadBytes, request, suspend }: ToolsParts,
  name: string,
  tool: StepSpec,
  input: unknown,
  options: ToolOptions,
): Promise<Json> {
  const json = boundedJson(input ?? null, maxPayloadBytes);
  if (!json.ok) throw refused(name, `the arguments of ${name}: the value ${json.problem}`);
  const key = keyOf(name, options.key, maxPayloadBytes);
  const intent = keyOf(name, options.intent, maxPayloadBytes);
  const isProtected = tool.effect === "none" || tool.effect === "idempotent" || tool.intent !== null;
  if (!isProtected && key === null && intent === null) {
    const message = `${name} has an effect that may not be repeated: call it with { intent: [...] }, its business key`;
    throw new RepriseError("INTENT_MISSING", message, { details: { tool: name, effect: tool.effect } });
  }
  const word = await request(tool, { tool: name, input: json.value, key, intent });
  switch (word.is) {
    case "output":
      return word.output;
    case "failed":
      throw new RepriseError("TOOL_FAILED", `${name} was not applied: ${word.failure.message}`, {
        details: { tool: name, failure: word.failure },
      });
    case "refused":
      throw refused(name, word.message);
    case "suspended":
      suspend(word.why);
      throw new RepriseError("TOOL_SUSPENDED", `${name} cannot be answered now: ${word.why}`, {
        details: { tool: name },
      });
    case "lost":
      throw leaseLost();
  }
}

function keyOf(name: string, given: Json | undefined, maxPayloadBytes: number): Json {
  if (given === undefined || given === null) return null;
  const json = boundedJson(given, maxPayloadBytes);
  if (!json.ok) throw refused(name, `the key or intent of ${name}: the value ${json.problem}`);
  return json.value;
}

function refused(tool: string, message: string): RepriseError {
  return new RepriseError("TOOL_REFUSED", message, { details: { tool } });
}
