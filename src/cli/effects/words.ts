/** Owns: how what is known of an effect reads. */
import type { LedgerRow } from "../../client/index.ts";
import { type Ink, ink, type Style } from "../base/ink.ts";

export type Call = LedgerRow["call"];
export type EffectState = Call["state"];

export const effectStates = [
  "planned",
  "claiming",
  "offered",
  "sent",
  "unknown",
  "succeeded",
  "not_applied",
  "withdrawn",
  "reused",
] as const satisfies readonly EffectState[];

const signs: Readonly<Record<EffectState, readonly [sign: string, style: Style]>> = {
  planned: ["○", "dim"],
  claiming: ["○", "dim"],
  offered: ["○", "cyan"],
  sent: ["▲", "cyan"],
  unknown: ["?", "yellow"],
  succeeded: ["✓", "green"],
  not_applied: ["–", "dim"],
  withdrawn: ["–", "dim"],
  reused: ["=", "green"],
};

export function stateInk(state: EffectState): Ink {
  const [sign, style] = signs[state];
  return ink(style, `${sign} ${state}`);
}
