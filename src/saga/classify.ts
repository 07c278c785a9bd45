/**
 * What an error that is not one of ours says about the effect of an HTTP call (design section 6): an exception's class
 * says nothing (`fetch` throws `TypeError` for a refused connection and for a reset after the request was read), its
 * `code` and status do. Pure. Invariant: what is not recognised is `unknown`.
 */
import { isStepError, type Knowledge } from "./outcome.ts";

/** What is known of the effect of a call that threw. */
export interface Classification {
  readonly knowledge: Knowledge;
  /** The code or status by which it was recognised, e.g. `ECONNREFUSED` or `http_503`; `null`: by none. */
  readonly code: string | null;
  /** From `Retry-After`; `null`: the other side did not say. */
  readonly retryAfterMs: number | null;
}

/** The request cannot have left this machine: nobody was found or reached, or whoever answered could not prove its name. */
const neverSent: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
/** 4xx that leave open whether something happened: 408 came too late, 409 may mean "done before". */
const doubtfulStatuses: ReadonlySet<number> = new Set([408, 409]);
/** Deeper chains of causes are not followed. */
const maxCauses = 5;

/**
 * Tells apart what an HTTP client's error says about the effect: `not_applied` (refused, unresolvable, most 4xx, 429) or
 * `unknown` (reset, time-out, abort, 408, 409, 5xx, and everything else).
 *
 * A client that follows redirects reports a refused second address like a refused first one, though the first has read the
 * request: call with `redirect: "manual"` or `"error"` where an effect is at stake.
 *
 * @param nowMs wall clock, for a `Retry-After` that is a date; without it such a date is ignored.
 */
export function classifyHttp(error: unknown, nowMs?: number): Classification {
  const chain = causesOf(error);
  for (const one of chain) {
    if (isStepError(one)) return { knowledge: one.knowledge, code: one.code, retryAfterMs: one.retryAfterMs };
  }
  for (const one of chain) {
    const status = statusOf(one);
    if (status !== null) return byStatus(status, headersOf(one), nowMs);
  }
  return byCode(chain);
}

function byStatus(status: number, headers: unknown, nowMs: number | undefined): Classification {
  const retryAfterMs = status === 429 || status === 503 ? retryAfter(headers, nowMs) : null;
  const refused = status >= 400 && status < 500 && !doubtfulStatuses.has(status);
  return { knowledge: refused ? "not_applied" : "unknown", code: `http_${status}`, retryAfterMs };
}

/** One code in the chain that speaks against it is enough: several addresses may have been tried. */
function byCode(chain: readonly object[]): Classification {
  const coded = chain.flatMap((error) => {
    const code = field(error, "code");
    return typeof code === "string" ? [{ error, code }] : [];
  });
  const first = coded[0]?.code ?? nameOf(chain[0]);
  const sure = coded.length > 0 && coded.every(({ error, code }) => neverSent.has(code) || neverConnected(error));
  return { knowledge: sure ? "not_applied" : "unknown", code: first, retryAfterMs: null };
}

/** Whatever went wrong (unreachable, reset, too slow), the connection was still to be made. */
function neverConnected(error: object): boolean {
  return field(error, "syscall") === "connect";
}

function nameOf(error: object | undefined): string | null {
  const name = error === undefined ? null : field(error, "name");
  return name === "AbortError" || name === "TimeoutError" ? name : null;
}

/** The error, its causes, and the errors it aggregates (`happy eyeballs` tries every address). */
function causesOf(error: unknown): readonly object[] {
  const chain: object[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== "object" || value === null || depth > maxCauses || chain.includes(value)) return;
    chain.push(value);
    const errors = field(value, "errors");
    if (Array.isArray(errors)) for (const one of errors) visit(one, depth + 1);
    visit(field(value, "cause"), depth + 1);
  };
  visit(error, 0);
  return chain;
}

function statusOf(error: object): number | null {
  const response = field(error, "response");
  const places = typeof response === "object" && response !== null ? [error, response] : [error];
  for (const place of places) {
    for (const key of ["status", "statusCode"]) {
      const status = field(place, key);
      if (typeof status === "number" && status >= 400 && status < 600) return status;
    }
  }
  return null;
}

function headersOf(error: object): unknown {
  const response = field(error, "response");
  const inner = typeof response === "object" && response !== null ? field(response, "headers") : undefined;
  return inner ?? field(error, "headers") ?? field(error, "responseHeaders");
}

function retryAfter(headers: unknown, nowMs: number | undefined): number | null {
  const value = headerOf(headers, "retry-after");
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  return nowMs === undefined || Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

function headerOf(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  const value = headers instanceof Headers ? headers.get(name) : ownHeader(headers, name);
  const one: unknown = Array.isArray(value) ? value[0] : value;
  return typeof one === "string" ? one.trim() : typeof one === "number" ? String(one) : null;
}

function ownHeader(headers: object, name: string): unknown {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function field(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key];
}
