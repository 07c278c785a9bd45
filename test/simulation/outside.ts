/**
 * The outside of a simulation: services of every effect class, what is scripted to go wrong with them, and how a process reaches
 * them.
 */
import { operationId, type Row, type Store, shownOf } from "../../src/core/index.ts";
import { fail, type Json } from "../../src/saga/index.ts";
import type { FakeWorld, WorldArrival } from "../../src/testing/index.ts";
import type { Mortal } from "../../src/testing/rig/mortal.ts";
import type { SawApproval } from "../support/checker-people.ts";
import type { Random } from "./random.ts";
import type { Service, SimServices } from "./sagas.ts";

export const worldServices = {
  reserve: { effect: "idempotent" },
  charge: { effect: "keyed", query: true },
  pick: { effect: "once", query: true },
  letter: { effect: "once" },
  "undo-reserve": { effect: "keyed", direction: "undo" },
  "undo-charge": { effect: "keyed", direction: "undo" },
  "undo-pick": { effect: "keyed", direction: "undo" },
  "undo-letter": { effect: "keyed", direction: "undo" },
} as const;

export interface OutsideParts {
  readonly world: FakeWorld;
  /** Is this undoing refused today? */
  readonly isClosed: (operationId: string) => boolean;
  /** A process has a call under way, or has it no more. */
  readonly underWay: (process: Mortal, by: 1 | -1) => void;
}

interface Reply {
  readonly kind: string;
  readonly status?: number;
  readonly body?: unknown;
}

/** The services, as this process reaches them. */
export function servicesOf(process: Mortal, { world, isClosed, underWay }: OutsideParts): SimServices {
  const ask = async (what: string, call: () => Promise<Reply>): Promise<never> => {
    underWay(process, 1);
    const reply = await process.cross({ kind: "service", what, asked: [] }, call);
    underWay(process, -1);
    return heard(reply);
  };
  return {
    call: (service, args, o) =>
      ask(`action ${service}`, () => world.call(request(service, args, o.operationId), { signal: o.signal })),
    undo: (service, args, o) =>
      isClosed(o.operationId)
        ? Promise.reject(fail("nothing is taken back today"))
        : ask(`undo ${service}`, () =>
            world.call(request(`undo-${service}`, args, o.operationId), { signal: o.signal }),
          ),
    find: async (service, o) => {
      const { args, ...query } = request(service, {}, o.operationId);
      const answer: { found?: boolean; result?: { ref: string } } = await ask(`probe ${service}`, () =>
        world.query(query, { signal: o.signal }),
      );
      return answer.found === true ? answer.result : undefined;
    },
  };
}

function heard({ kind, status, body }: Reply): never {
  if (kind === "reset") throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
  if (status !== undefined && status >= 400) throw Object.assign(new Error(`status ${status}`), { status });
  // What a service answers is what its step declares.
  return body as never;
}

function request(service: Service | `undo-${Service}`, args: Readonly<Record<string, string>>, operationId: string) {
  return { service, action: "do", operationId, args, profile: worldServices[service] };
}

// ---- what goes wrong there

const slowServices = ["reserve", "charge", "pick", "letter"] as const;

export function scriptFaults(world: FakeWorld, random: Random, count: number): void {
  for (let n = 0; n < count; n += 1) scriptFault(world, random);
  if (random.chance(0.4)) scriptSlowness(world, random);
  if (!random.chance(0.3)) return;
  const service = random.pick(["charge", "pick"]);
  const afterMs = random.between(10, 2_500);
  world.fault({ service, action: "do", kind: "500-then-apply-later", afterMs, times: 1 });
}

function scriptFault(world: FakeWorld, random: Random): void {
  const service = random.pick(Object.keys(worldServices));
  const kind = random.pick([
    "apply-then-hang",
    "hang-before-apply",
    "apply-then-500",
    "reset-before-apply",
    "reset-after-apply",
  ] as const);
  const [times, fromArrival] = [random.between(1, 3), random.between(1, 4)];
  world.fault({ service, action: "do", kind, times, fromArrival });
}

function scriptSlowness(world: FakeWorld, random: Random): void {
  const service = random.pick(slowServices);
  const [ms, times] = [random.between(500, 2_500), random.between(1, 4)];
  world.fault({ service, action: "do", kind: "slow", ms, times });
}

// ---- the witness

/** What the store says of the row at the moment its call arrives outside. */
export async function witnessed(
  store: Pick<Store, "ledger">,
  namespace: string,
  { operationId: id, args }: WorldArrival,
): Promise<unknown> {
  const [, tenant = "", run = ""] = id.split("/");
  const ref = { tenant, id: run };
  for (const row of await store.ledger(ref)) {
    if (operationId(namespace, ref, row) === id)
      return { intent: row.call.firstSentRevision !== null, approval: approvalOf(row, args) };
    if (operationId(namespace, ref, row, "undo") === id)
      return { intent: (row.undo?.call?.firstSentRevision ?? null) !== null };
  }
  return { intent: false };
}

function approvalOf({ step, approval }: Row, args: WorldArrival["args"]): SawApproval | null {
  return approval === null ? null : { state: approval.state, isShown: shownOf(step, args as Json) === approval.shown };
}
