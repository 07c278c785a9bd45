/**
 * Owners and their pulses. An owner is registered in every shard, because `acquire` over its lease looks there. Whether a
 * pulse still beats is asked of the server it is open on, outside of scripts (CLIENT LIST is not allowed in them).
 */
import { performance } from "node:perf_hooks";
import type { Redis } from "ioredis";
import type { OwnerRef, RunRef } from "../../core/index.ts";
import { memberOf, type ShardKeys } from "../keys.ts";
import { serversOf } from "./connections.ts";
import type { Wire } from "./wire.ts";

const separator = " ";

/** What is kept of an owner: on which server its pulse is open, under which id, and the world it has compared with; a dash: none. */
function registrationOf({ serverId, pulse, compared }: OwnerRef): string {
  return [serverId, pulse, compared].map((word) => word ?? "-").join(separator);
}

function ownerOf(owner: string, registration: string): OwnerRef {
  const words = registration.split(separator).map((word) => (word === "-" ? null : word));
  const [serverId = null, pulse = null, compared = null] = words;
  return { owner, serverId, pulse, compared };
}

export async function hello(wire: Wire, owner: OwnerRef): Promise<void> {
  const registration = registrationOf(owner);
  const each = ({ owners }: ShardKeys) => wire.client.hset(owners, owner.owner, registration);
  await wire.ask("hello", () => Promise.all(wire.shards.map(each)));
}

export async function owners(wire: Wire): Promise<readonly OwnerRef[]> {
  const each = (keys: ShardKeys) => wire.client.hgetall(keys.owners);
  const hashes = await wire.ask("owners", () => Promise.all(wire.shards.map(each)));
  const all = new Map(hashes.flatMap((hash) => Object.entries(hash)));
  return [...all].map(([owner, registration]) => ownerOf(owner, registration));
}

/** A server's process has an id of its own. */
export async function world(wire: Wire): Promise<string> {
  const servers = await wire.ask("world", () => Promise.all(serversOf(wire.client).map(idOf)));
  return servers
    .map(({ serverId }) => serverId)
    .sort()
    .join();
}

export async function suspect(wire: Wire, owner: string, run: RunRef | null): Promise<void> {
  const member = run === null ? null : memberOf(run);
  const each = ({ suspects }: ShardKeys) =>
    member === null ? wire.client.hdel(suspects, owner) : wire.client.hset(suspects, owner, member);
  await wire.ask("suspect", () => Promise.all(wire.shards.map(each)));
}

/** Ends at most 100 leases a shard of an owner that died; nothing where it registered again meanwhile. */
export function expire(wire: Wire, owner: OwnerRef): Promise<{ expired: number; more: boolean }> {
  return endLeases(wire, owner.owner, registrationOf(owner), "died");
}

/** Forgets an owner that leaves in good order; what it still holds is free at once and counts as no death. */
export async function goodbye(wire: Wire, owner: string): Promise<void> {
  while ((await endLeases(wire, owner, "", "left")).more);
}

async function endLeases(wire: Wire, owner: string, registration: string, mark: "died" | "left") {
  const each = ({ prefix, due, clock, owners, suspects }: ShardKeys) => {
    const keys = [due, clock, owners, suspects, `${prefix}held:${owner}`];
    return wire.run<readonly [number, number]>("expire", keys, [prefix, owner, registration, mark]);
  };
  const answers = await Promise.all(wire.shards.map(each));
  return { expired: answers.reduce((sum, [ended]) => sum + ended, 0), more: answers.some(([, more]) => more === 1) };
}

/**
 * Tells which owners' pulses are gone. A pulse counts only on a server as long as its process is the same: client ids
 * begin anew with it. After servers have come or gone, owners are given `settleMs` to register again.
 */
export class Pulses {
  readonly #wire: Wire;
  readonly #settleMs: number;
  #servers = "";
  #changedAt = 0;

  constructor(wire: Wire, settleMs: number) {
    this.#wire = wire;
    this.#settleMs = settleMs;
  }

  /** Every registered owner but `mine` whose pulse is missing; none where that cannot be asked. */
  async lost(mine: ReadonlySet<string>): Promise<readonly OwnerRef[]> {
    const registered = (await owners(this.#wire)).filter(({ owner, pulse }) => pulse !== null && !mine.has(owner));
    if (registered.length === 0) return [];
    const servers = await this.#wire.ask("lostOwners", () => Promise.all(serversOf(this.#wire.client).map(idOf)));
    const settled = this.#isSettled(servers.map(({ serverId }) => serverId));
    const lost = await Promise.all(
      servers.map(({ server, serverId }) =>
        missing(
          server,
          registered.filter((owner) => owner.serverId === serverId),
        ),
      ),
    );
    const known = new Set(servers.map(({ serverId }) => serverId));
    const stray = settled ? registered.filter(({ serverId }) => serverId === null || !known.has(serverId)) : [];
    return [...lost.flat(), ...stray];
  }

  /** Those of `names` that are registered with a pulse; nobody where servers do not tell of pulses, for then no death is ever seen. */
  async living(names: readonly string[]): Promise<readonly string[]> {
    const registered = await owners(this.#wire);
    const living = registered.flatMap(({ owner, pulse }) => (pulse !== null && names.includes(owner) ? [owner] : []));
    if (living.length === 0) return [];
    const tell = await Promise.all(serversOf(this.#wire.client).map(tellsOfPulses));
    return tell.every(Boolean) ? living : [];
  }

  #isSettled(serverIds: readonly string[]): boolean {
    const servers = [...serverIds].sort().join();
    const now = performance.now();
    if (servers !== this.#servers) {
      this.#servers = servers;
      this.#changedAt = now;
    }
    return now - this.#changedAt >= this.#settleMs;
  }
}

async function idOf(server: Redis): Promise<{ server: Redis; serverId: string }> {
  return { server, serverId: /^run_id:(\w+)/m.exec(await server.info("server"))?.[1] ?? "" };
}

/** Forbidden, or unknown to the server: only that says no. One that does not answer may tell of them later. */
async function tellsOfPulses(server: Redis): Promise<boolean> {
  try {
    await server.call("CLIENT", "LIST", "ID", "1");
    return true;
  } catch (error) {
    return !(error instanceof Error && /^(?:NOPERM|ERR)\b/.test(error.message));
  }
}

async function missing(server: Redis, owners: readonly OwnerRef[]): Promise<readonly OwnerRef[]> {
  if (owners.length === 0) return [];
  try {
    const list = await server.call("CLIENT", "LIST", "ID", ...owners.map(({ pulse }) => pulse ?? ""));
    const alive = new Set([...String(list).matchAll(/^id=(\d+) /gm)].map((match) => match[1]));
    return owners.filter(({ pulse }) => pulse !== null && !alive.has(pulse));
  } catch {
    // Forbidden, unknown to the server, or the server is gone: then there are only leases.
    return [];
  }
}
