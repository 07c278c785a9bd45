/** What the test of traces tells its worker processes, what they answer, and the saga that they run. */
import { trace } from "@opentelemetry/api";
import { z } from "zod";
import { fail, saga, step } from "../../src/index.ts";
import type { TestSpan } from "../support/spans.ts";

export interface TraceOrders {
  readonly redis: string;
  readonly namespace: string;
  /** In the middle of `charge`. */
  readonly dies: boolean;
}

export type TraceSaid = { readonly ready: string } | { readonly span: TestSpan };

interface Services {
  readonly dies: boolean;
}

const input = z.object({ id: z.string() });
const reserve = step("reserve", {
  input,
  effect: "keyed",
  action: () => trace.getTracer("shop").startActiveSpan("POST /reservations", async (span) => span.end()),
  compensate: () => undefined,
});
const charge = step("charge", {
  input,
  effect: "keyed",
  action: async (context) => {
    if ((context.services as Services).dies) process.kill(process.pid, "SIGKILL");
  },
  compensate: () => undefined,
});
const ship = step("ship", {
  input,
  effect: "keyed",
  action: () => {
    throw fail("no truck");
  },
  compensate: () => undefined,
});

export const traced = saga("traced", { version: 1, input })
  .step(reserve, (view) => view.input)
  .step(charge, (view) => view.input)
  .step(ship, (view) => view.input)
  .build();
