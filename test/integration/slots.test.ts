/** Every key of a run lies in one slot. On a single server the same suite shows nothing of it; in cluster mode it must. */
import { Redis } from "ioredis";
import { expect, inject, it } from "vitest";
import { orderSaga } from "../simulation/sagas.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { top } from "./top.ts";

const inCluster = inject("redisUrl").includes("cluster=true");

it.runIf(inCluster)("R039 R040 in cluster mode no command of a whole run crosses slots", async () => {
  const { client, worker } = top([orderSaga]);
  const refs = new Map<string, number>();
  const outside = (service: string) => {
    refs.set(service, (refs.get(service) ?? 0) + 1);
    return Promise.resolve({ ref: `${service}-1` });
  };
  await worker({ services: { call: outside, undo: outside, find: () => Promise.resolve(undefined) } });
  const runs = await client.startMany(
    orderSaga,
    Array.from({ length: 20 }, (_, n) => ({ id: `r${n}`, input: { id: `r${n}`, refuse: n % 2 === 0 } })),
  );
  const ends = await Promise.allSettled(
    runs.map(({ id }) => client.run(id, { saga: orderSaga }).result({ timeout: "20s" })),
  );
  expect(ends.filter((end) => end.status === "fulfilled")).toHaveLength(10);
  const server = new Redis(inject("redisUrl").replace("?cluster=true", ""));
  const [errors, commands] = [await server.info("errorstats"), await server.info("commandstats")];
  server.disconnect();
  expect(errors).not.toContain("CROSSSLOT");
  expect(commands).toContain("cmdstat_evalsha");
  leaveEvidence(["R039", "R040"], {
    effects: [...refs.values()].reduce((sum, n) => sum + n, 0),
    checks: ["20 runs on a server in cluster mode, every command of the suite in one slot"],
    suite: { name: `integration, ${inject("shards")} shards`, count: 20 },
  });
});
