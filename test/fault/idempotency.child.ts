/** A service that is no saga: it charges a card once a key, and notes every charge in a file, whoever asked for it. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import {
  absent,
  createIdempotency,
  happened,
  type Idempotency,
  notApplied,
  type RepriseError,
  type RequestOptions,
} from "../../src/index.ts";
import { listen, say } from "../support/fault-child.ts";
import type { Ask, Effect, Place, Reply, Request } from "./idempotency-words.ts";

interface Charged {
  readonly charged: number;
  readonly by: number;
  readonly found: boolean;
}

const services = new Map<string, Idempotency>();
const held: (() => void)[] = [];

function serviceAt({ redis, namespace, claimFor }: Place): Idempotency {
  const known = services.get(namespace + redis);
  if (known !== undefined) return known;
  const facts = { emit: () => undefined };
  const service = createIdempotency({ redis, namespace, claimFor, settings: { commandTimeoutMs: 500 }, facts });
  services.set(namespace + redis, service);
  return service;
}

async function hold(id: number): Promise<void> {
  say<Reply>({ holding: id });
  await new Promise<void>((resolve) => held.push(resolve));
}

async function charge({ id, key, cents, way, file }: Ask): Promise<Charged> {
  if (way === "hold before") await hold(id);
  if (way === "refuse") throw notApplied("the card was declined");
  const effect: Effect = { key, cents, pid: process.pid };
  appendFileSync(file, `${JSON.stringify(effect)}\n`);
  if (way === "hold after") await hold(id);
  if (way === "throw") throw new Error("socket hang up");
  return { charged: cents, by: process.pid, found: false };
}

/** The world's own record. */
function lookUp(file: string): NonNullable<RequestOptions<Charged>["recover"]> {
  return (key) => {
    const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    const effect = lines.map((line) => JSON.parse(line) as Effect).find((noted) => noted.key === key);
    return effect === undefined ? absent() : happened({ charged: effect.cents, by: process.pid, found: true });
  };
}

async function answer(ask: Ask): Promise<Reply> {
  const { id, key, cents, tenant, file, recovers } = ask;
  const options = { ...(tenant === undefined ? {} : { tenant }), ...(recovers ? { recover: lookUp(file) } : {}) };
  try {
    const done = await serviceAt(ask).run(key, { charge: cents }, () => charge(ask), options);
    return { answered: id, json: JSON.stringify(done.answer), replayed: done.replayed };
  } catch (error) {
    const { code = "", message, details = {} } = error as Partial<RepriseError> & Error;
    return { refused: id, error: { code: String(code), message, details } };
  }
}

listen(async (request: Request) => {
  if ("ask" in request) return say<Reply>(await answer(request.ask));
  for (const goOn of held.splice(0)) goOn();
});
say<Reply>({ ready: true });
