/** `askTurn` and `giveTurn`: from the port's words to the scripts' and back. */
import type {
  AskTurnAnswer,
  AskTurnCommand,
  GiveTurnAnswer,
  GiveTurnCommand,
  Timed,
  TurnRef,
} from "../../core/index.ts";
import { assertTurn } from "../checks.ts";
import type { Wire } from "./wire.ts";

type AskReply =
  | readonly ["MINE" | "GONE", number]
  | readonly ["WAIT", number, ahead: number, before: readonly string[], asked: readonly (string | null)[]];

export async function askTurn(wire: Wire, command: AskTurnCommand): Promise<Timed<AskTurnAnswer>> {
  assertTurn(command);
  const { turn, run, startedAt, limit, asked } = command;
  const reply = await wire.run<AskReply>("ask_turn", keysOf(wire, turn), [run, startedAt, limit, asked]);
  if (reply[0] !== "WAIT") return { answer: reply[0], now: reply[1] };
  const [answer, now, ahead, runs, numbers] = reply;
  const before = runs.map((each, at) => ({ run: each, asked: numberOf(numbers[at]) }));
  return { answer, ahead, before, now };
}

export async function giveTurn(wire: Wire, command: GiveTurnCommand): Promise<Timed<GiveTurnAnswer>> {
  assertTurn(command);
  const { turn, run, limit, asked } = command;
  const args = [run, limit, asked ?? ""];
  const reply = await wire.run<readonly [number, readonly string[]]>("give_turn", keysOf(wire, turn), args);
  return { next: reply[1], now: reply[0] };
}

function numberOf(score: string | null | undefined): number | null {
  return score === null || score === undefined ? null : Number(score);
}

/** A line lies in the shard of its own hash, whatever runs stand in it. */
function keysOf(wire: Wire, { tenant, hash }: TurnRef): readonly string[] {
  const { member, shard } = wire.find({ tenant, id: hash });
  const line = `${shard.prefix}turn:${member}`;
  return [shard.clock, `${line}:owners`, `${line}:line`, `${line}:gone`, `${line}:heard`];
}
