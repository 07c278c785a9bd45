/** The stored form of a permit: `<send><a|u> until sentAt deadline abort`, then token and owner as JSON, a line each. */
import type { PermitState, RunRef } from "../../core/index.ts";
import { memberOf } from "../keys.ts";
import { decoded } from "./shape.ts";

/** Throws RECORD_CORRUPT, naming the run and the row. */
export function decodePermit(run: RunRef, seq: number, stored: string, now: number): PermitState {
  return decoded(`the permit of row ${seq}`, memberOf(run), () => {
    const [head = "", token = "", owner = ""] = stored.split("\n");
    const match = /^(\d+)([au]) (\d+) (\d+) (\d+) [01]$/.exec(head);
    if (match === null) throw new Error("it has another form");
    const until = Number(match[3]);
    return {
      seq,
      send: Number(match[1]),
      side: match[2] === "a" ? "action" : "undo",
      token: JSON.parse(token) as string,
      owner: JSON.parse(owner) as string,
      until,
      sentAt: Number(match[4]),
      deadline: Number(match[5]),
      expired: until <= now,
    };
  });
}
