/** An example saga with a client, a worker and a world over the memory store, where days pass in no time; and its people. */
import { onTestFinished } from "vitest";
import { connectedClient, type PendingApproval, type RunHandle, type RunView } from "../../src/client/index.ts";
import type { DecisionWord, Principal, RepriseError, Saga } from "../../src/index.ts";
import { FakeWorld, worldClient } from "../../src/testing/index.ts";
import { benchTop } from "../unit/engine/bench-top.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export const person = (id: string, ...roles: string[]): Principal => ({ id, kind: "person", roles });

/** Whatever its results and events are. */
type Asking = Pick<RunHandle, "id" | "approvals" | "decide">;

export async function peopleTop(sagas: readonly Saga[]) {
  const top = benchTop(sagas);
  await top.store.open();
  const world = new FakeWorld();
  const place = { namespace: "test", sagas, maxPayloadBytes: 100_000, maxReplays: 10 };
  const client = connectedClient(top.ports, place);
  let worker = top.worker({ services: worldClient(world) });
  await worker.start();
  const stopMs = 30_000;
  const stop = () => Promise.all([worker.stop(), top.clock.advance(stopMs)]);
  onTestFinished(async () => {
    await stop();
    await client.close();
    world.close();
  });
  /** Lets everybody work until there is nothing left to do now. */
  const work = () => top.clock.advance(2_000);

  /** Lets time pass with no worker there at all, and has another one take up what is due then. */
  async function pass(ms: number): Promise<void> {
    await stop();
    await top.clock.advance(ms - stopMs);
    worker = top.worker({ services: worldClient(world) });
    await worker.start();
    await work();
  }

  async function start<S extends Saga>(of: S, input: { readonly id: string }): Promise<RunHandle> {
    const run = await client.startByName(of.name, input, { id: input.id });
    await work();
    return run;
  }

  /** Says it to what the run asks now, and lets everybody work. `code: why` where it was refused. */
  async function says(run: Asking, as: Principal, word: DecisionWord): Promise<string> {
    const [pending] = await run.approvals();
    if (pending === undefined) return "nobody is asked";
    const said = await run.decide(pending, word, { as }).then(
      ({ is }) => is,
      ({ code, message }: RepriseError) => `${code}: ${message}`,
    );
    await work();
    return said;
  }

  return { ...top, client, world, work, pass, start, says };
}

/** What a run asks; it must ask one thing. */
export async function askedBy(run: Asking): Promise<PendingApproval> {
  const [pending, ...others] = await run.approvals();
  if (pending === undefined || others.length > 0)
    throw new Error(`${run.id} asks ${others.length} things more than one`);
  return pending;
}

/** What happened in the world for a run, in order: `bank.refund`, ... */
export function effectsFor(world: FakeWorld, { id }: Pick<RunView, "id">): readonly string[] {
  return world.effects().flatMap(({ run, service, action }) => (run === id ? [`${service}.${action}`] : []));
}
