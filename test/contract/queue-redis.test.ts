import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { Queue } from "bullmq";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { bullmqCanaries, bullmqConsumers, bullmqWakeUps } from "../../src/queue/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { consumerOf, queueSuite, wakeUp } from "./queue.suite.ts";

function redisBench(url = inject("redisUrl")) {
  const connections = redisConnections(url);
  const namespace = `q${randomBytes(6).toString("hex")}`;
  const troubles: string[] = [];
  const onTrouble = (where: string, error: unknown) => void troubles.push(`${where}: ${String(error)}`);
  const wakeUps = bullmqWakeUps({ connect: () => connections.commands(), namespace, onTrouble });
  const consumers = bullmqConsumers({ connection: connections.blocking(), namespace, lanes: 1, onTrouble });
  onTestFinished(async () => {
    await wakeUps.close();
    connections.close();
  });
  return { connections, namespace, troubles, wakeUps, consumers, until, quiet: () => pass(150) };
}

async function until(done: () => boolean): Promise<void> {
  const end = performance.now() + 5_000;
  while (!done()) {
    if (performance.now() > end) throw new Error("it did not happen");
    await pass(5);
  }
}

describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("the queue over BullMQ", () => {
  queueSuite(async () => redisBench());

  test("a queue that could not be opened is opened anew when Redis is there", async () => {
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    const { wakeUps } = redisBench(server.url);
    await server.kill();
    await expect(wakeUps.wake([wakeUp("r1")])).rejects.toThrow();
    await server.restart();
    await expect
      .poll(() => wakeUps.wake([wakeUp("r1")]).then(() => "added", String), { timeout: 10_000 })
      .toBe("added");
  });

  test("R003 a job that is not one of ours is acknowledged and said once", async () => {
    const bench = redisBench();
    const client = bench.connections.commands();
    await bench.connections.ready(client);
    const foreign = new Queue("pool-default", { connection: client, prefix: `{reprise:${bench.namespace}:w0}` });
    await foreign.add("theirs", { any: "thing" }, { jobId: "not~ours" });
    await foreign.add("theirs", {}, { jobId: "neither-this" });
    await client.lpush(`{reprise:${bench.namespace}:w0}:pool-default:wait`, "acme~gone.1");
    const seen: string[] = [];
    await consumerOf(bench, { concurrency: 1, onWake: async (ref) => void seen.push(ref.id) }).start();
    await bench.wakeUps.wake([wakeUp("mine")]);
    await until(() => seen.includes("mine"));
    await until(() => bench.troubles.length > 0);
    await bench.quiet();
    const counts = await foreign.getJobCounts("wait", "active", "failed", "completed");
    expect(counts).toEqual({ wait: 0, active: 0, failed: 0, completed: 0 });
    const said = bench.troubles.filter((line) => line.includes("not one of ours"));
    expect(said).toHaveLength(1);
    leaveEvidence("R003", { checks: [`orphans acknowledged, said: ${said[0]}`], suite: { name: "orphans", count: 3 } });
    await foreign.close();
  });

  test("a canary is a sign of life of whoever takes it, and of nobody else; none is left behind", async () => {
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    const bench = redisBench(server.url);
    const proxy = await startTcpProxy({ target: { host: server.host, port: server.port } });
    const apart = redisConnections(proxy.url);
    onTestFinished(async () => {
      await proxy.close();
      apart.close();
    });
    const others = { connection: apart.blocking(), namespace: bench.namespace, lanes: 1, onTrouble: () => undefined };
    const [mine, cutOff] = [consumerOf(bench, {}), consumerOf({ consumers: bullmqConsumers(others) }, {})];
    await Promise.all([mine.start(), cutOff.start()]);
    await until(() => proxy.asking(({ words }) => words[0]?.toLowerCase() === "bzpopmin") > 0);
    const connect = () => bench.connections.commands();
    const canaries = bullmqCanaries({
      connect,
      namespace: bench.namespace,
      pools: ["default"],
      lanes: 1,
      onTrouble: () => undefined,
    });
    onTestFinished(() => canaries.close());
    const aliveAt = (of: typeof mine) => of.signs()[0]?.aliveAt ?? 0;
    proxy.halfOpen();
    const before = { mine: aliveAt(mine), cutOff: aliveAt(cutOff) };
    await Promise.all([canaries.send(), canaries.send()]);
    await until(() => aliveAt(mine) > before.mine);
    await bench.quiet();
    expect(aliveAt(cutOff)).toBe(before.cutOff);
    expect(mine.signs()).toMatchObject([{ source: "pool-default", isFull: false, tookAt: null }]);
    const inspect = new Queue("pool-default", { connection: connect(), prefix: `{reprise:${bench.namespace}:w0}` });
    expect(await inspect.getJobCounts("wait", "active", "failed", "completed")).toEqual({
      wait: 0,
      active: 0,
      failed: 0,
      completed: 0,
    });
    await inspect.close();
  });

  test("R037 connections that are killed again and again are opened again, and work goes on", async () => {
    // A server of its own: on the shared one this would cut off every other test file.
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    const bench = redisBench(server.url);
    const seen: string[] = [];
    await consumerOf(bench, { onWake: async (ref) => void seen.push(ref.id) }).start();
    await bench.quiet();
    const client = bench.connections.commands();
    await bench.connections.ready(client);
    const wakeUntilAccepted = async (id: string): Promise<void> => {
      for (let tries = 0; tries < 100; tries += 1) {
        const accepted = await bench.wakeUps.wake([wakeUp(id)]).then(
          () => true,
          () => pass(20).then(() => false),
        );
        if (accepted) return;
      }
    };
    for (let round = 0; round < 5; round += 1) {
      await client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await until(() => client.status === "ready");
      await wakeUntilAccepted(`r${round}`);
      await until(() => seen.includes(`r${round}`));
    }
    leaveEvidence("R037", {
      checks: [`work went on within 5 s after each of 5 CLIENT KILLs: ${seen.join(", ")}`],
      suite: { name: "connections killed, nudges delivered after it", count: seen.length },
    });
  });
});
