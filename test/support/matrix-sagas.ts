/**
 * The sagas of the effects matrix: one step each that is struck, of every effect class, with and without a probe; or one
 * whose compensation is struck, because the step after it says no. A saga, its step and the world's service that it calls
 * have one name. A `call` is one request; a `batch` is one request with five items; what is `expiring` is repeated only
 * when the other side has forgotten the key.
 */
import { z } from "zod";
import { type ActionContext, fail, type ProbeContext, type Saga, saga, stepsFor } from "../../src/index.ts";
import type { CallOptions, ServiceProfile } from "../../src/testing/index.ts";
import { type FaultServices, isKnown, known, knownOfBatch, Ref } from "./fault-services.ts";

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

export type Side = "action" | "undo";

/** What is struck, and what the saga it is struck in is called. */
export interface Struck {
  readonly kind: Kind;
  readonly family: Family;
  readonly side: Side;
}

export function sagaNameOf({ kind, family, side }: Struck): string {
  return side === "undo" ? `${kind}-${family}-undone` : `${kind}-${family}`;
}

/** The service of the world that is called when it is struck. */
export function serviceNameOf(struck: Struck): string {
  return `${struck.side === "undo" ? "undo-" : ""}${sagaNameOf(struck)}`;
}

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
const Input = z.object({ id: z.string(), isDeaf: z.boolean() });

type Given = z.output<typeof Input>;

function struckAction({ kind, family }: Struck): Saga {
  const name = `${kind}-${family}` as const;
  const { effect, isProbed } = kinds[kind];
  const isBatch = family === "batch";
  const told = {
    input: Input,
    output: Ref,
    action: ({ input, ...c }: ActionContext<Given, FaultServices>) => {
      const options = heard(input, c);
      return isBatch ? c.services.makeBatch(name, input, options) : c.services.make(name, input, options);
    },
    ...(isProbed ? { probe: isBatch ? askBatch(name) : ask(name) } : {}),
    ...(family === "expiring" ? expiringBounds : bounds),
  };
  const struck =
    effect === "none"
      ? step(name, { ...told, effect })
      : step(name, { ...told, effect, noCompensation: "nothing is undone here" });
  return saga(name, { version: 1, input: Input }).step(struck).build();
}

type Asking = ProbeContext<Given, FaultServices>;
const ask = (name: string) => async (c: Asking) => known(await c.services.find(name, "make", c));
const askBatch = (name: string) => async (c: Asking) => knownOfBatch(await c.services.findBatch(name, c));

function heard<Call extends CallOptions>({ isDeaf }: Given, { signal, ...call }: Call): CallOptions {
  return isDeaf ? call : { ...call, signal };
}

const refuse = step("refuse", { input: Input, effect: "none", action: () => Promise.reject(fail("refused")) });

function struckUndo({ kind, family }: Struck): Saga {
  const name = `${kind}-${family}-undone` as const;
  const { effect, isProbed } = kinds[kind];
  const made = step(name, {
    input: Input,
    output: Ref,
    effect: "keyed",
    action: ({ input, ...c }) => c.services.make(name, input, c),
    compensate: {
      effect,
      run: ({ input, output, ...c }) => c.services.undo(name, output, heard(input, c)),
      ...(isProbed ? { probe: askUndo(name) } : {}),
      ...(family === "expiring" ? expiringBounds : bounds),
    },
    ...bounds,
  });
  return saga(name, { version: 1, input: Input })
    .step(made)
    .step(refuse, ({ input }) => input)
    .build();
}

const askUndo = (name: string) => async (c: CallOptions & { readonly services: FaultServices }) =>
  isKnown(await c.services.find(name, "undo", c));

function profileOf({ kind, family, side }: Struck): ServiceProfile {
  const { effect, isProbed } = kinds[kind];
  const ttl = family === "expiring" && effect === "keyed" ? { keyTtlMs } : {};
  return { effect, query: isProbed, ...ttl, ...(side === "undo" ? { direction: "undo" } : {}) };
}

const acts = kindNames.flatMap((kind) => families.map((family): Struck => ({ kind, family, side: "action" })));
const undoes = acts.filter(({ family }) => family !== "batch").map((struck): Struck => ({ ...struck, side: "undo" }));

export const matrixSagas = [
  ...acts.map((struck) => struckAction(struck)),
  ...undoes.map((struck) => struckUndo(struck)),
];
export const matrixProfiles: Readonly<Record<string, ServiceProfile>> = Object.fromEntries([
  ...[...acts, ...undoes].map((struck) => [serviceNameOf(struck), profileOf(struck)]),
  ...undoes.map((struck) => [sagaNameOf(struck), { effect: "keyed" }]),
]);
