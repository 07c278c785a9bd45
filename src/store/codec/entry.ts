/**
 * The stored form of an inbox entry, in lines: position and time, command id, sender, body. A slot that was consumed keeps
 * all but the body. The scripts read the first two lines. Command id and sender are JSON strings, so a line is a line.
 */
import type { InboxBody, InboxEntry, RunRef } from "../../core/index.ts";
import { memberOf } from "../keys.ts";
import { decoded } from "./shape.ts";

/** What `send` hands to its script; position and time are the script's to give. */
export function encodeEntry(entry: Pick<InboxEntry, "commandId" | "by" | "body">): {
  readonly commandId: string;
  readonly rest: string;
} {
  return {
    commandId: JSON.stringify(entry.commandId),
    rest: `${JSON.stringify(entry.by)}\n${JSON.stringify(entry.body)}`,
  };
}

/** Throws RECORD_CORRUPT, naming the run and the slot. */
export function decodeEntry(run: RunRef, slot: string, stored: string): InboxEntry {
  return decoded(`inbox slot ${slot}`, memberOf(run), () => {
    const { position, at, commandId, by, body } = linesOf(stored);
    return { slot, position, commandId, at, by, body: JSON.parse(body) as InboxBody };
  });
}

/** Who has a slot, whether its entry waits or was consumed. */
export function decodeWinner(run: RunRef, slot: string, stored: string): { by: string; commandId: string } {
  return decoded(`inbox slot ${slot}`, memberOf(run), () => {
    const { by, commandId } = linesOf(stored);
    return { by, commandId };
  });
}

function linesOf(stored: string) {
  const [head, commandId, by, ...body] = stored.split("\n");
  const match = /^(\d+) (\d+)$/.exec(head ?? "");
  if (match === null || commandId === undefined || by === undefined) throw new Error("it has too few lines");
  return {
    position: Number(match[1]),
    at: Number(match[2]),
    commandId: JSON.parse(commandId) as string,
    by: JSON.parse(by) as string,
    body: body.join("\n"),
  };
}
