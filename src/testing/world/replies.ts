/** Owns: the forms in which the fake world answers. */
import type { Applied } from "./effects.ts";
import { type JsonObject, WorldRefusal } from "./input.ts";

/** What a caller gets: an answer with an HTTP status, or a connection that is reset. */
export type WorldReply =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly body: JsonObject;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "reset" };

export const reset: WorldReply = { kind: "reset" };

export function answer(status: number, body: JsonObject) {
  return { kind: "answer", status, body } as const;
}

export function refusal(status: number, code: string, message: string) {
  return answer(status, { code, message });
}

export const serverError = refusal(500, "internal_error", "the service failed");

export function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { "retry-after": String(seconds) };
}

export function foundOrNot(applied: Applied | undefined): WorldReply {
  if (applied === undefined) return answer(200, { found: false });
  return answer(200, { found: true, result: applied.result, undone: applied.undone });
}

export async function answering(work: () => Promise<WorldReply>): Promise<WorldReply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WorldRefusal) return refusal(error.status, error.code, error.message);
    throw error;
  }
}

/** The caller stops waiting at its signal; the work goes on without it. */
export async function untilGone<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return work();
  signal.throwIfAborted();
  let leave: () => void = () => undefined;
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work(), left]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
