/**
 * Tells alerts to a webhook. Invariants: K1 they go out one after the other, in the order in which they came. K2 one that is not
 * taken (no answer, 429, 5xx) is sent again with the same id and body, less and less often, and given up after `maxTries`; any other
 * answer is final.
 */
import type { Clock } from "../core/index.ts";
import { type PostTarget, post } from "../webhook/index.ts";

export interface WebhookOptions extends PostTarget {
  readonly clock: Clock;
  readonly onTrouble: (error: unknown) => void;
  /** The first pause before another try; it doubles up to 60 s. */
  readonly againMs?: number;
}

export interface Webhook {
  /** `id` stays the same whenever it is sent; whoever has seen it needs not act on it again. */
  send(id: string, body: object): void;
  /** Resolves when nothing is waiting any more, or after `ms`. */
  stop(ms: number): Promise<void>;
}

const mostAgainMs = 60_000;
const maxTries = 12;
/** Words that wait to be heard; more are dropped, the oldest first. */
const maxWaiting = 500;

interface Word {
  readonly id: string;
  readonly body: string;
}

export function webhook(options: WebhookOptions): Webhook {
  const waiting: Word[] = [];
  const abort = new AbortController();
  let sending: Promise<void> | null = null;

  async function sendAll(): Promise<void> {
    for (let word = waiting[0]; word !== undefined && !abort.signal.aborted; word = waiting[0]) {
      await deliver(options, word, abort.signal);
      waiting.shift();
    }
  }

  return {
    send: (id, body) => {
      if (waiting.length >= maxWaiting) {
        waiting.splice(1, 1);
        options.onTrouble(new Error(`more than ${maxWaiting} alerts wait for the webhook: the oldest is dropped`));
      }
      waiting.push({ id, body: JSON.stringify(body) });
      sending ??= sendAll().finally(() => {
        sending = null;
      });
    },
    stop: async (ms) => {
      const cancel = options.clock.after(ms, () => abort.abort());
      await sending;
      cancel();
    },
  };
}

async function deliver(options: WebhookOptions, word: Word, signal: AbortSignal): Promise<void> {
  let pauseMs = options.againMs ?? 1_000;
  for (let tries = 1; !signal.aborted; tries += 1) {
    const refusal = await post(options, word, signal);
    if (refusal === null) return;
    options.onTrouble(new Error(`the webhook did not take ${word.id}: ${refusal.why}`));
    if (isFinal(refusal.status) || tries >= maxTries) return;
    await pause(options.clock, pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, mostAgainMs);
  }
}

function isFinal(status: number | "late" | null): boolean {
  return typeof status === "number" && status < 500 && status !== 429;
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", cut);
      resolve();
    });
    const cut = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener("abort", cut, { once: true });
  });
}
