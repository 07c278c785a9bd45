/** `claimIntent` and `publishIntent`: from the port's words to the scripts' and back. */
import type {
  ClaimIntentAnswer,
  ClaimIntentCommand,
  IntentOutcome,
  IntentRef,
  PublishIntentAnswer,
  PublishIntentCommand,
  Timed,
} from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import { assertIntentOwner } from "../checks.ts";
import type { Wire } from "./wire.ts";

type ClaimReply =
  | readonly ["MINE", number, generation: number]
  | readonly [
      "BUSY",
      number,
      owner: string,
      generation: number,
      state: "c" | "u",
      claimedAt: string,
      until: string,
      heard: number,
    ]
  | readonly ["DONE", number, owner: string, generation: number, outcome: string, heard: number]
  | readonly ["CONFLICT", number, owner: string, argsHash: string]
  | readonly ["GONE", number];

export async function claimIntent(wire: Wire, command: ClaimIntentCommand): Promise<Timed<ClaimIntentAnswer>> {
  const { owner, argsHash, claimMs, keepMs, replaces, listens } = command;
  assertIntentOwner(owner);
  const args = [owner, argsHash, claimMs ?? "", keepMs ?? "", replaces ?? "", listens ? 1 : 0];
  return claimed(command, await wire.run<ClaimReply>("claim_intent", keysOf(wire, command.intent), args));
}

function claimed({ argsHash: asked }: ClaimIntentCommand, reply: ClaimReply): Timed<ClaimIntentAnswer> {
  const now = reply[1];
  switch (reply[0]) {
    case "MINE":
      return { answer: "MINE", generation: reply[2], now };
    case "BUSY": {
      const [, , owner, generation, letter, claimedAt, until, heard] = reply;
      const state = letter === "u" ? "unknown" : "claimed";
      const times = { claimedAt: Number(claimedAt), until: until === "" ? null : Number(until) };
      return { answer: "BUSY", owner, generation, state, ...times, heard: heard === 1, now };
    }
    case "DONE": {
      const [, , owner, generation, outcome, heard] = reply;
      // It was written by `publishIntent`.
      return { answer: "DONE", owner, generation, outcome: JSON.parse(outcome) as Json, heard: heard === 1, now };
    }
    case "CONFLICT":
      return { answer: "CONFLICT", owner: reply[2], argsHash: reply[3], asked, now };
    case "GONE":
      return { answer: "GONE", now };
  }
}

type PublishReply =
  | readonly ["OK" | "DUP", number, generation: number, waiters: readonly string[], reusers: readonly string[]]
  | readonly ["FENCED", number];

export async function publishIntent(wire: Wire, command: PublishIntentCommand): Promise<Timed<PublishIntentAnswer>> {
  const { intent, owner, became, keepMs } = command;
  assertIntentOwner(owner);
  const outcome = became.state === "succeeded" ? JSON.stringify(became.outcome) : "";
  const args = [owner, letterOf[became.state], outcome, keepMs ?? ""];
  const reply = await wire.run<PublishReply>("publish_intent", keysOf(wire, intent), args);
  if (reply[0] === "FENCED") return { answer: "FENCED", now: reply[1] };
  const [answer, now, generation, waiters, reusers] = reply;
  return { answer, generation, waiters: [...waiters].sort(), reusers: [...reusers].sort(), now };
}

const letterOf: Readonly<Record<IntentOutcome["state"], string>> = {
  succeeded: "d",
  not_applied: "f",
  withdrawn: "f",
  undone: "z",
  unknown: "u",
};

/** An intent lies in the shard of its own hash, whatever runs ask for it. */
function keysOf(wire: Wire, { tenant, hash }: IntentRef): readonly string[] {
  const { member, shard } = wire.find({ tenant, id: hash });
  return [shard.clock, `${shard.prefix}intent:${member}`];
}
