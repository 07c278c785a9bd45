import { expect, test } from "vitest";
import { z } from "zod";
import { notApplied, saga, step } from "../../../src/saga/index.ts";
import { benchTop } from "./bench-top.ts";

const input = z.object({ n: z.number() });

function recorder() {
  const seen: string[] = [];
  const make = <const Name extends string>(name: Name, act: () => unknown = () => ({ ok: name })) =>
    step(name, {
      input,
      output: z.object({ ok: z.string() }),
      effect: "keyed",
      action: ({ operationId }) => {
        seen.push(operationId);
        return act() as { ok: string };
      },
      compensate: ({ operationId }) => {
        seen.push(operationId);
      },
      retry: { attempts: 2, initial: 10, max: 10 },
    });
  return { seen, make };
}

test("a straight run is called step by step and completes", async () => {
  const { seen, make } = recorder();
  const line = saga("line", { version: 1, input })
    .step(make("a"), ({ input }) => input)
    .step(make("b"), ({ input }) => input)
    .build();
  const top = benchTop([line]);
  const worker = top.worker();
  await worker.start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  const record = await top.store.read(run);
  expect(record?.status).toBe("completed");
  expect(record?.revision).toBe(4);
  expect(seen).toEqual(["test/default/r1/a/1", "test/default/r1/b/1"]);
  const stopped = worker.stop();
  await top.clock.advance(20_000);
  await stopped;
});

test("a failure is undone in reverse", async () => {
  const { seen, make } = recorder();
  const line = saga("line", { version: 1, input })
    .step(make("a"), ({ input }) => input)
    .step(make("b"), ({ input }) => input)
    .step(
      make("c", () => {
        throw notApplied("no");
      }),
      ({ input }) => input,
    )
    .build();
  const top = benchTop([line]);
  const worker = top.worker();
  await worker.start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(5_000);
  const record = await top.store.read(run);
  expect(record?.status).toBe("failed");
  expect(record?.rollback).toBe("complete");
  const names = seen.map((id) => id.split("/").slice(3).join("/"));
  expect(names).toEqual(["a/1", "b/1", "c/1", "c/1", "b/1/undo", "a/1/undo"]);
});
