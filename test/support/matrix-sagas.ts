/**
 * The sagas of the effects matrix: one step each, of every effect class, with and without a probe. A saga, its step and the
 * world's service that it calls have one name. A `call` is one request; a `batch` is one request with five items; what is
 * `expiring` is repeated only when the other side has forgotten the key.
 */
import { z } from "zod";
import { type ActionContext, type ProbeContext, type Saga, saga, stepsFor } from "../../src/index.ts";
import type { ServiceProfile } from "../../src/testing/index.ts";
import { type FaultServices, known, knownOfBatch, Ref } from "./fault-services.ts";

export const kinds = {
  none: { effect: "none", isProbed: false },
  idempotent: { effect: "idempotent", isProbed: false },
  "idempotent-probed": { effect: "idempotent", isProbed: true },
  keyed: { effect: "keyed", isProbed: false },
  "keyed-probed": { effect: "keyed", isProbed: true },
  once: { effect: "once", isProbed: false },
  "once-probed": { effect: "once", isProbed: true },
} as const;
export type Kind = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as readonly Kind[]; // its keys are its kinds

export const families = ["call", "batch", "expiring"] as const;
export type Family = (typeof families)[number];

export type MatrixName = `${Kind}-${Family}`;

/** How long the other side remembers a key of an `expiring` call; it is repeated after more than that. */
export const keyTtlMs = 5_000;
const retry = { attempts: 3, backoff: "fixed", initial: "50ms", max: "50ms", jitter: false } as const;
const slowRetry = { ...retry, initial: "6s", max: "6s" } as const;
/** Time-out and lateness are longer than anything the harness does with a call on a busy machine. */
const bounds = { timeout: "8s", lateness: "6s", retry } as const;
/** A key is repeated only where its life outlasts the repeat's own time-out. */
const expiringBounds = { timeout: "3s", lateness: "1s", keyTtl: keyTtlMs, retry: slowRetry } as const;

const { step } = stepsFor<FaultServices>();
/** `isDeaf`: the call ignores that it was aborted, and so hears an answer that comes too late. */
const Struck = z.object({ id: z.string(), isDeaf: z.boolean() });

type Asking = ProbeContext<z.output<typeof Struck>, FaultServices>;

function sagaOf(kind: Kind, family: Family): Saga {
  const name: MatrixName = `${kind}-${family}`;
  const { effect, isProbed } = kinds[kind];
  const isBatch = family === "batch";
  const told = {
    input: Struck,
    output: Ref,
    action: ({ input, signal, ...c }: ActionContext<z.output<typeof Struck>, FaultServices>) => {
      const options = input.isDeaf ? c : { ...c, signal };
      return isBatch ? c.services.makeBatch(name, input, options) : c.services.make(name, input, options);
    },
    ...(isProbed ? { probe: isBatch ? askBatch(name) : ask(name) } : {}),
    ...(family === "expiring" ? expiringBounds : bounds),
  };
  const struck =
    effect === "none"
      ? step(name, { ...told, effect })
      : step(name, { ...told, effect, noCompensation: "nothing is undone here" });
  return saga(name, { version: 1, input: Struck }).step(struck).build();
}

const ask = (name: string) => async (c: Asking) => known(await c.services.find(name, "make", c));
const askBatch = (name: string) => async (c: Asking) => knownOfBatch(await c.services.findBatch(name, c));

function profileOf(kind: Kind, family: Family): ServiceProfile {
  const { effect, isProbed } = kinds[kind];
  return { effect, query: isProbed, ...(family === "expiring" && effect === "keyed" ? { keyTtlMs } : {}) };
}

const cells = kindNames.flatMap((kind) => families.map((family) => ({ kind, family })));

export const matrixSagas = cells.map(({ kind, family }) => sagaOf(kind, family));
export const matrixProfiles = Object.fromEntries(
  cells.map(({ kind, family }) => [`${kind}-${family}`, profileOf(kind, family)]),
);
