/**
 * A commit is carried out and its reply is lost on the way, once for each commit of a run: it is sent again, unchanged, and
 * answered as a duplicate. On a single server and on a cluster, whose client has a resend of its own (turned off).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadScripts } from "../../src/store/scripts.ts";
import { toldOf } from "../support/fault-crash.ts";
import type { FaultWorker } from "../support/fault-processes.ts";
import { done } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import type { RedisRequest } from "../support/tcp-link.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** One that begins, one after each of eight steps. */
const commits = Array.from({ length: 9 }, (_, n) => n + 1);
const times = process.env["REPRISE_SIZE"] === "full" ? 6 : 1;
const { sha } = loadScripts(1).commit;

describe.each([{ mode: "a single server" }, { mode: "a cluster" }] as const)("on $mode", ({ mode }) => {
  const cluster = mode === "a cluster";
  let stage: Stage;
  let proxy: TcpProxy;
  let worker: FaultWorker;
  let url: string;

  beforeAll(async () => {
    proxy = await startTcpProxy({ target: () => ({ host: stage.redis.host, port: stage.redis.port }) });
    stage = await Stage.open({ redis: { cluster, announcePort: proxy.port } });
    url = cluster ? `${proxy.url}?cluster=true` : proxy.url;
    worker = await stage.worker(null, url);
    await completes("warm-up", null); // now the server knows the scripts
  });
  afterAll(async () => {
    await stage.close();
    await proxy.close();
  });

  async function completes(name: string, nth: number | null, ending: "cut" | "silence" = "cut"): Promise<void> {
    const room = await stage.room(name, url);
    const isOurs = ({ words: [command, which, ...rest] }: RedisRequest) =>
      command?.toUpperCase() === "EVALSHA" &&
      which === sha &&
      rest.some((word) => word.startsWith(`{reprise:${name}:`));
    const lost = nth === null ? null : proxy.dropReply(isOurs, { nth, ending });
    await worker.serve(name);
    await room.start("whole");
    const { status } = await room.rest();
    expect(status, await toldOf(room)).toBe("completed");
    // Where the connection came back too late to begin the call, its grant was given back by one commit more.
    const log = (await room.log()).filter(({ taken }) => !taken.some(({ what }) => what === "taken_back"));
    expect([lost?.hits ?? 1, log.length]).toEqual([1, 1 + commits.length]);
    expect(await room.counts()).toMatchObject(done);
    if (lost === null) return;
    const checks = [`the reply of commit ${nth} was lost (${ending}) on ${mode}: the log has it once`];
    await room.prove(["P10", "R053", "R087", "I4"], { checks });
  }

  test.concurrent.each(commits.flatMap((nth) => Array.from({ length: times }, (_, n) => [nth, n + 1] as const)))(
    "P10 R053 R087 I4 the reply of commit %i lost (%i): it counts once, and no call is repeated",
    async (nth, time) => {
      await completes(`lost-${nth}-${time}`, nth);
    },
  );

  test.concurrent.each([3, 8])(
    "P10 R053 I4 the reply of commit %i lost, the connection silent ever after",
    async (nth) => {
      await completes(`silent-${nth}`, nth, "silence");
    },
  );
});
