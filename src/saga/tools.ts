/**
 * Steps as tools of another step's action: what its author calls, and what comes back. Types only; how a request becomes a
 * ledger row is `core`'s.
 */
import type { AnyActorLogic, PromiseActorLogic } from "xstate";
import type { Json } from "./json-type.ts";

/**
 * How a request is known again when the action is made again, or asks twice. A tool whose effect is `keyed` or `once` needs
 * one of the two, unless its step declares an `intent`.
 */
export interface ToolOptions {
  /**
   * The business key of the effect, unique across all runs of the tenant: `["refund", chargeId]`. Never a text that a model
   * wrote: it writes another one next time.
   */
  readonly intent?: Json;
  /** What tells this request from others of the same action, where no other run could make the same effect: a position. */
  readonly key?: Json;
}

/**
 * Calls a tool: a ledger row of its own, with the class, the probe and the compensation of its step. Resolves with the
 * recorded output, whether it was made now or before.
 *
 * @throws RepriseError TOOL_FAILED: it was tried and not applied. TOOL_REFUSED: it was not tried, because its arguments do
 * not fit or it was called for this intent with other ones; the message can be given to a model. INTENT_MISSING.
 * TOOL_SUSPENDED, LEASE_LOST: stop; whatever the action says after it is not heard.
 */
export type Tool<Input, Output> = (input: Input, options?: ToolOptions) => Promise<Output>;

/** The steps that an action may use, by the name under which it does. */
export type Toolbox = Readonly<Record<string, AnyActorLogic>>;

/** What an action has of the steps it uses. */
export type Tools<Uses> = {
  readonly [Name in keyof Uses]: Uses[Name] extends PromiseActorLogic<infer Output, infer Input>
    ? Tool<Input, Output>
    : never;
};
