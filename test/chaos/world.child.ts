/**
 * The world of a round of chaos: a process that is never killed and writes what it sees to a file. What it withholds it lets go
 * after a while, well within the lateness that the steps declare.
 */
import { FakeWorld, type Fault, serveFakeWorld } from "../../src/testing/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { callOfItem } from "../support/fault-services.ts";
import { profiles } from "./sagas.ts";
import type { WorldOrders, WorldReply, WorldRequest } from "./words.ts";

const orders = readOrders<WorldOrders>();
const maxEntries = 5_000_000;
const maxFaults = 400;
/** How long an answer is withheld. */
const heldMs = 800;

const world = new FakeWorld({ file: orders.file, services: profiles, maxEntries });
const faults: ReturnType<FakeWorld["fault"]>[] = [];

world.subscribe(({ event, call }) => {
  if (event !== "held") return;
  // Half of them are answered in the end, the others never: the caller hears of a reset.
  const end = callOfItem(call.operationId).length % 2 === 0 ? "released" : "dropped";
  setTimeout(() => world.endHeld(call.id, end), heldMs);
});

/** Of those that have struck, or were never met, the oldest make room. */
function script(fault: Fault): void {
  faults.push(world.fault(fault));
  if (faults.length <= maxFaults) return;
  const spent = faults.findIndex(({ hits }) => hits > 0);
  for (const old of faults.splice(Math.max(0, spent), 1)) old.remove();
}

function effectsOf(operationId: string): number {
  return world.counts().reduce((sum, each) => sum + (each.operationId === operationId ? each.effects : 0), 0);
}

listen(async (request: WorldRequest) => {
  if ("script" in request) for (const fault of request.script) script(fault);
  else say<WorldReply>({ asked: request.asks, effects: effectsOf(request.about) });
});
const server = await serveFakeWorld(world);
say<WorldReply>({ url: server.url });
