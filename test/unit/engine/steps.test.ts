import { expect, test } from "vitest";
import { z } from "zod";
import type { SendCommand, Store } from "../../../src/core/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { type ActionContext, saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });

function routed(act: (context: ActionContext) => unknown, effect: "keyed" | "once" = "keyed") {
  const ids: string[] = [];
  const render = step("render", {
    input,
    effect,
    queue: "gpu",
    timeout: "20s",
    action: async (context) => {
      ids.push(context.operationId);
      await act(context as ActionContext);
      return null;
    },
    compensate: () => undefined,
  });
  const film = saga("film", { version: 1, input })
    .step(render, ({ input }) => input)
    .build();
  const sent: SendCommand[] = [];
  const over = (store: Store): Partial<Store> => ({
    send: (command) => {
      sent.push(command);
      return store.send(command);
    },
  });
  return { film, ids, sent, over };
}

test("a routed call is made under a permit by a worker of its queue, and answered by an entry", async () => {
  const { film, ids, sent, over } = routed(() => undefined);
  const top = benchTop([film], wrapped(over));
  await top.worker().start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(1_000);
  expect(ids).toEqual([]);
  expect((await top.store.ledger(run))[0]?.call.state).toBe("offered");
  await top.worker({ pools: [], queues: ["gpu"] }).start();
  await top.clock.advance(1_000);
  expect(ids).toEqual(["test/default/r1/render/1"]);
  expect(sent.map(({ slot }) => slot)).toEqual(["settle:1:1"]);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("an offer that was taken twice is called once", async () => {
  const { film, ids } = routed(() => new Promise((resolve) => void top.clock.after(500, () => resolve(undefined))));
  const top = benchTop([film]);
  await top.worker().start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(100);
  await top.worker({ pools: [], queues: ["gpu"] }).start();
  await top.clock.advance(100);
  await top.queue.wakeUps.offer([{ run, seq: 1, send: 1, side: "action", queue: "gpu", priority: 9 }]);
  await top.clock.advance(2_000);
  expect(ids).toHaveLength(1);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a permit is renewed for as long as the call takes, so that nobody judges it as lost", async () => {
  const { film, ids } = routed(() => new Promise((resolve) => void top.clock.after(15_000, () => resolve(undefined))));
  const top = benchTop([film]);
  await top.worker({ queues: ["gpu"] }).start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(17_000);
  expect(ids).toHaveLength(1);
  const rows = await top.store.ledger(run);
  expect(rows[0]?.call).toMatchObject({ state: "succeeded", send: 1 });
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a cancel aborts the call of a remote worker", async () => {
  const aborted: number[] = [];
  const { film, ids } = routed(({ signal }) => {
    if (ids.length > 1) return undefined;
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        aborted.push(top.clock.monotonicMs());
        reject(signal.reason);
      });
    });
  });
  const top = benchTop([film]);
  await top.worker({ queues: ["gpu"] }).start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(1_000);
  const body = { type: "cancel", mode: "compensate", reason: "enough" } as const;
  const answer = await top.store.send({ run, slot: "cancel", commandId: "c", by: "ann", body });
  if (answer.answer === "OK" && answer.wake !== null) await top.queue.wakeUps.wake([answer.wake]);
  await top.clock.advance(3_000);
  expect(aborted).toHaveLength(1);
  await top.clock.advance(60_000);
  expect(await top.store.read(run)).toMatchObject({ status: "cancelled" });
});

test("a permit that was won too late, or by a worker that stops, is answered with not called", async () => {
  let late = true;
  const { film, ids, sent, over } = routed(() => undefined, "once");
  const top = benchTop(
    [film],
    wrapped((store) => ({
      ...over(store),
      permit: async (command) => {
        const answer = await store.permit(command);
        if (late) await new Promise<void>((resolve) => void top.clock.after(settings.startWithinMs + 1, resolve));
        late = false;
        return answer;
      },
    })),
  );
  await top.worker({ queues: ["gpu"] }).start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(6_000);
  expect(sent[0]?.body).toMatchObject({ type: "settle", result: { kind: "not_called" } });
  expect(ids).toHaveLength(1);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a permit whose answers were lost for a while is answered with not called, and the call is made once", async () => {
  let lost = 5;
  const { film, ids, sent, over } = routed(() => undefined, "once");
  const top = benchTop(
    [film],
    wrapped((store) => ({
      ...over(store),
      permit: async (command) => {
        const answer = await store.permit(command);
        if (lost > 0) await new Promise<void>((resolve) => void top.clock.after(600, resolve));
        lost -= 1;
        if (lost >= 0) throw new RepriseError("STORE_UNAVAILABLE", "no answer");
        return answer;
      },
    })),
  );
  await top.worker({ queues: ["gpu"] }).start();
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(20_000);
  expect(sent[0]?.body).toMatchObject({ type: "settle", result: { kind: "not_called" } });
  expect(ids).toHaveLength(1);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("the call of a remote worker that died is judged by its class when its permit has run out", async () => {
  let calls = 0;
  const { film, ids } = routed(() => {
    calls += 1;
    return calls === 1 ? new Promise(() => undefined) : undefined;
  });
  const top = benchTop([film]);
  const remote = await top.mortal({ queues: ["gpu"] });
  const run = await top.start(film, { n: 1 });
  await top.clock.advance(1_000);
  remote.kill();
  await top.worker({ queues: ["gpu"] }).start();
  await top.clock.advance(3 * settings.leaseMs);
  expect(ids).toEqual([ids[0], ids[0]]);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});
