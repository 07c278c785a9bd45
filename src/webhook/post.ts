/**
 * Tells one thing to a webhook, once. Owns how it is signed and what an answer means; when it is told again is its caller's.
 * Invariants: P1 each sending is signed with its time: `t=<seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`. P2 it never takes longer
 * than `withinMs`, follows no redirect and reads no answer.
 */
import { createHmac } from "node:crypto";

export interface PostTarget {
  readonly url: string;
  /** Signs what is sent; without one nothing is signed. */
  readonly secret: string | null;
}

/** `null`: it was taken. `status`: what it answered; `late`: nothing in time; `null`: nothing, or it could not be reached. */
export type PostAnswer = { readonly why: string; readonly status: number | "late" | null } | null;

const answerWithinMs = 10_000;

/** `id` stays the same whenever it is sent; whoever has seen it needs not act on it again. Never rejects. */
export async function post(
  { url, secret }: PostTarget,
  { id, body }: { readonly id: string; readonly body: string },
  signal: AbortSignal,
  withinMs = answerWithinMs,
): Promise<PostAnswer> {
  // Not AbortSignal.any with AbortSignal.timeout: what nobody else holds is collected as garbage, and never ends anything.
  const limit = new AbortController();
  const cut = (): void => limit.abort(signal.reason);
  const late = new Error(`it did not answer within ${withinMs} ms`);
  const timer = setTimeout(() => limit.abort(late), withinMs);
  signal.addEventListener("abort", cut, { once: true });
  if (signal.aborted) cut();
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "reprise-event-id": id, ...signed(secret, body) },
      body,
      redirect: "manual",
      signal: limit.signal,
    });
    await response.body?.cancel();
    return response.ok ? null : { why: `it answered ${response.status}`, status: response.status };
  } catch (error) {
    return { why: whyOf(error), status: error === late ? "late" : null };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cut);
  }
}

/** Of a connection that never stood `fetch` says the reason in the cause. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  if (!(cause instanceof Error)) return message;
  const code = "code" in cause ? String(cause.code) : "";
  return [message, cause.message || code].join(": ");
}

function signed(secret: string | null, body: string): Readonly<Record<string, string>> {
  if (secret === null) return {};
  // The receiver compares it with its own clock, so that what was heard once cannot be sent again by somebody else.
  const at = Math.floor(Date.now() / 1_000);
  const mac = createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
  return { "reprise-signature": `t=${at},v1=${mac}` };
}
