/**
 * Starting a run if need be, and signalling it. Invariant: nothing is written before all of it was checked; the whole may be sent
 * again after any crash, since the run's id makes the start idempotent and the signal's id the signal.
 */
import type { Saga, SagaEvents, SagaInput } from "../saga/index.ts";
import type { Connection } from "./connection.ts";
import { ConnectedRun, type EventPayloads } from "./handle.ts";
import { type Started, type StartOptions, startOne } from "./start.ts";

export interface SignalWithStartOptions<S extends Saga, Name extends keyof EventPayloads<SagaEvents<S>> & string>
  extends Omit<StartOptions, "id"> {
  /** Of the run. */
  readonly id: string;
  readonly event: Name;
  readonly payload: EventPayloads<SagaEvents<S>>[Name];
  /** Sending the whole again with it changes nothing. A new one unless given: then each call is a signal of its own. */
  readonly signalId?: string;
  /** Who sends it; `client` unless given. */
  readonly by?: string;
}

/** What came of it. */
export interface Signalled {
  readonly started: Exclude<Started["outcome"], "conflict">;
  readonly signal: "accepted" | "duplicate";
}

/** Throws what `start` and `signal` throw. */
export async function signalWithStart<S extends Saga, Name extends keyof EventPayloads<SagaEvents<S>> & string>(
  connection: Connection,
  saga: S,
  input: SagaInput<S>,
  options: SignalWithStartOptions<S, Name>,
): Promise<Signalled & { readonly run: ConnectedRun<unknown, SagaEvents<S>> }> {
  const { event, payload, signalId, by, ...start } = options;
  connection.sagaOf(saga.name, saga.version);
  const { tenant = "default", id } = start;
  const run = new ConnectedRun<unknown, SagaEvents<S>>(connection, { tenant, id }, saga);
  const given = { ...(signalId === undefined ? {} : { id: signalId }), ...(by === undefined ? {} : { by }) };
  const send = await run.readied(event, payload, given);
  const { outcome } = await startOne(connection, saga, { ...start, input });
  // A conflict was thrown.
  return { run, started: outcome === "existed" ? "existed" : "created", signal: await send() };
}
