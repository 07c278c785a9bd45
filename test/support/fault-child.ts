/**
 * How the harness and a child process of a fault test speak: the child is told its orders when it starts, is asked things
 * by IPC, and is gone when whoever started it is gone. What is said is for the caller to type: both ends are one version.
 */
import type { Serializable } from "node:child_process";
import type { SpawnOptions } from "./processes.ts";

const variable = "REPRISE_ORDERS";

/** Starts a child with these orders. */
export function withOrders(orders: object): SpawnOptions {
  return { env: { [variable]: JSON.stringify(orders) } };
}

export function readOrders<Orders>(): Orders {
  return JSON.parse(process.env[variable] ?? "null") as Orders;
}

export function say<Words extends Serializable>(words: Words): void {
  process.send?.(words);
}

/** Takes each request; one that fails ends the process. */
export function listen<Request>(
  take: (request: Request) => Promise<void>,
  whenAlone: () => void = () => process.exit(0),
): void {
  process.on("message", (request: Request) => {
    take(request).catch((error: unknown) => {
      console.error(error);
      process.exit(2);
    });
  });
  process.once("disconnect", whenAlone);
}
