/**
 * What became of an earlier request that was interrupted, or failed without saying what is known. Owns when an answer of
 * `recover` is believed: `happened` at once; `absent` only when it was asked after the claim was over, as until then the
 * other side may still apply what it was sent.
 */
import { redact } from "../redact.ts";
import type { Absent, Happened, ProbeAnswer } from "../saga/index.ts";
import type { Call } from "./call.ts";
import { type Busy, unknown } from "./errors.ts";

type Recover<Answer> = (key: string) => ProbeAnswer<Answer> | Promise<ProbeAnswer<Answer>>;

/** What is known of the claim of this owner. */
export type Found<Answer> = (Happened<Answer> | Absent) & { readonly owner: string };

/** What became of an earlier request. Throws IDEMPOTENCY_UNKNOWN where nobody can tell. */
export async function findOut<Answer>(
  call: Call,
  busy: Busy,
  recover: Recover<Answer> | undefined,
): Promise<Found<Answer>> {
  if (recover === undefined) throw unknown(call, busy, "there is no recover to ask");
  const said = await Promise.resolve(call.key)
    .then(recover)
    .catch((cause: unknown) => {
      throw unknown(call, busy, "recover failed", { cause });
    });
  switch (said?.answer) {
    case "happened":
      return { ...said, owner: busy.owner };
    case "absent":
      if (isOver(busy)) return { ...said, owner: busy.owner };
      throw unknown(call, busy, "recover says absent, but it may still take effect", {
        retryAfterMs: (busy.until ?? busy.now) - busy.now,
      });
    case "cannot_tell":
      throw unknown(call, busy, `recover cannot tell${said.reason === null ? "" : `: ${redact(String(said.reason))}`}`);
    default:
      throw unknown(call, busy, "recover answered none of happened(), absent(), cannotTell()");
  }
}

export function isOver({ until, now }: Busy): boolean {
  return until !== null && until <= now;
}
