/**
 * A pulse on a server that is frozen: its connection stands, and answers nothing. It is kept until there is one on a primary, since a
 * pulse that is gone says that its process is dead; then it moves.
 */
import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { openPulse, type PulsePlace } from "../../src/redis/pulse.ts";
import { owned, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);

async function hasPulse(server: RedisServer, { pulse }: PulsePlace): Promise<boolean> {
  return String(await server.ask("CLIENT", "LIST")).includes(`id=${pulse} `);
}

async function serverId(server: RedisServer): Promise<string | undefined> {
  return /^run_id:(\w+)/m.exec(String(await server.ask("INFO", "server")))?.[1];
}

test("a pulse on a frozen server stays there while the other one is a replica, and moves once that is a primary", async () => {
  const [first, other] = await Promise.all([startRedisServer(), startRedisServer()]);
  own(first);
  own(other);
  await other.ask("REPLICAOF", first.host, first.port);
  const opened: PulsePlace[] = [];
  let turns = 0;
  const pulse = openPulse(
    (turn) => {
      turns = turn + 1;
      const { host, port } = turn === 0 ? first : other;
      return new Redis({ host, port, retryStrategy: () => null });
    },
    (place) => opened.push(place),
  );
  own({ stop: async () => pulse.close() });
  await waitFor(() => opened.length === 1, { what: "a pulse on the primary" });
  const before = opened[0] as PulsePlace; // it was waited for
  expect(before.serverId).toBe(await serverId(first));

  first.freeze();
  // It has looked at the replica, and again, and found it of no use.
  await waitFor(() => turns >= 4, { what: "the replica to be tried", timeoutMs: 20_000 });
  first.thaw();
  expect([opened.length, await hasPulse(first, before)]).toEqual([1, true]);

  first.freeze();
  await other.ask("REPLICAOF", "NO", "ONE");
  await waitFor(() => opened.length === 2, { what: "a pulse on the new primary", timeoutMs: 20_000 });
  const after = opened[1] as PulsePlace; // it was waited for
  expect([after.serverId, await hasPulse(other, after)]).toEqual([await serverId(other), true]);
  first.thaw();
  await waitFor(async () => !(await hasPulse(first, before)), { what: "the old one to be gone" });
});
