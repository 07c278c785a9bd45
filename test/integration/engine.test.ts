import { expect, test } from "vitest";
import { z } from "zod";
import { notApplied, saga, step } from "../../src/index.ts";
import { top } from "./top.ts";

const input = z.object({ n: z.number() });

test("a saga completes and its result reaches the client", async () => {
  const seen: string[] = [];
  const add = step("add", {
    input,
    output: z.object({ n: z.number() }),
    effect: "keyed",
    action: ({ input, operationId }) => {
      seen.push(operationId);
      return { n: input.n + 1 };
    },
    compensate: () => undefined,
  });
  const line = saga("line", { version: 1, input })
    .step(add, ({ input }) => input)
    .build();
  const { client, worker, namespace, troubles } = top([line]);
  await worker();
  const run = await client.start(line, { n: 1 }, { id: "r1" });
  await expect(run.result({ timeout: "5s" })).resolves.toEqual({ n: 2 });
  expect(seen).toEqual([`${namespace}/default/r1/add/1`]);
  expect(troubles).toEqual([]);
});
