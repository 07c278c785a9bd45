/** `approval()`: a step that people carry out. Owns its options and its output; what they are asked is `gate.ts`'s. */
import { type ZodType, z } from "zod";
import type { Gate, GateOptions } from "./gate.ts";
import type { JsonSide } from "./json-type.ts";
import { makeStep, type Step } from "./step.ts";

/** The options of `approval()`. */
export interface ApprovalOptions<In extends ZodType, Form extends ZodType | undefined = undefined>
  extends GateOptions<z.output<In>> {
  readonly question: string | ((view: { readonly input: z.output<In> }) => string);
  /** What is decided on. Describes JSON on its encoded side. */
  readonly input: In & JsonSide<In>;
  /** What the person fills in who approves. */
  readonly form?: Form & JsonSide<Form>;
}

/** What an approval gives to the steps after it. All of it is JSON. */
export interface Approved<Input, Form> {
  readonly approved: true;
  /** Ids of the people who approved; none where nobody needed to be asked. */
  readonly by: readonly string[];
  /** Of the last of them; the rule where nobody needed to be asked. */
  readonly reason: string | null;
  /** What was approved: as asked for, or as they edited it. */
  readonly input: Input;
  readonly form: Form;
}

/** What was filled in; `null` where nothing was to be. */
export type FormOf<Form> = Form extends ZodType ? z.input<Form> | null : null;

/**
 * A step that people carry out: the run waits for them, holding no worker, for as long as it takes. Approved, its output is
 * {@link Approved}; rejected, or not decided on in time, it fails (code `REJECTED`, `EXPIRED`): an `onError` may take that,
 * else the run goes back.
 *
 * @throws RepriseError `DEFINITION_INVALID`, listing everything that is wrong with the declaration.
 */
export function approval<const Name extends string, In extends ZodType, Form extends ZodType | undefined = undefined>(
  name: Name,
  options: ApprovalOptions<In, Form>,
): Step<Name, z.input<In>, Approved<z.input<In>, FormOf<Form>>> {
  const { input, form, ...gate } = options;
  const call = { input, output: z.json(), effect: "none", action: carriedOutByPeople } as const;
  // Its functions are given what its input schema makes of the input.
  return makeStep(name, { ...call, approve: gate as Gate, form }, "approval");
}

function carriedOutByPeople(): never {
  throw new Error("an approval is carried out by people; no code is called for it");
}
