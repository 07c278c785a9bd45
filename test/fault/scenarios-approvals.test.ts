/**
 * Runs that wait for people: of two who decide one wins, a cancel at the same time too, and a wait that lasts costs nobody
 * anything. A loan is reserved, approved and disbursed; the bank counts.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  approval,
  type Client,
  type DecisionWord,
  type PendingApproval,
  type Principal,
  type RepriseError,
  type RunHandle,
  type RunStatus,
  saga,
  stepsFor,
} from "../../src/index.ts";
import { FakeWorld, type ServiceProfile, type WorldArrival, type WorldClient } from "../../src/testing/index.ts";
import { effectsOf, type Top, until } from "../support/top.ts";
import { Here } from "./scenarios-here.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

const pairs = 500;
const { step } = stepsFor<WorldClient>();
const Loan = z.object({ id: z.string(), cents: z.number() });
const Ref = z.object({ ref: z.string() });

const keyed: ServiceProfile = { effect: "keyed", query: true };
const undoing: ServiceProfile = { effect: "keyed", direction: "undo" };
const services = { score: keyed, reserve: keyed, disburse: keyed, "undo-reserve": undoing, "undo-disburse": undoing };

function money<const Name extends "reserve" | "disburse">(name: Name) {
  return step(name, {
    input: Loan,
    output: Ref,
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => ({
      ref: String((await world.op(name).call("do", input, call))["ref"]),
    }),
    compensate: ({ output, services: world, ...call }) => world.op(`undo-${name}`).call("do", output, call),
    timeout: "5s",
  });
}

const manager = approval("manager", {
  input: Loan,
  question: ({ input }) => `Lend ${input.cents / 100} EUR to ${input.id}?`,
  by: "manager",
  requester: "agent-7",
  allow: ["approve", "edit", "reject", "ask_back"],
});
const loan = saga("loan", { version: 1, input: Loan })
  .step(money("reserve"))
  .step(manager)
  .step(money("disburse"), ({ results }) => results.manager.input)
  .build();

const person = (id: string): Principal => ({ id, kind: "person", roles: ["manager"] });
const [ann, bob] = [person("ann"), person("bob")];
const yes: DecisionWord = { is: "approve" };
const no: DecisionWord = { is: "reject", reason: "too much" };

const newTop = () => here.top([loan], new FakeWorld({ services }));

/** Starts runs, and answers them when all of them ask. */
async function asking(client: Client, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, at) => `l${at + 1}`);
  await client.startMany(
    loan,
    ids.map((id) => ({ id, input: { id, cents: 50_000 } })),
  );
  await until(async () => (await client.approvals({ limit: 1_000 })).approvals.length === count, 60_000);
  return ids;
}

type Said = "accepted" | { readonly code: string; readonly by: unknown };

/** What a run asks, once it does. */
async function shownBy(client: Client, id: string): Promise<PendingApproval> {
  return await until(async () => (await client.run(id).approvals())[0]);
}

/** What all of them ask, by run. */
async function shownIn(client: Client): Promise<(id: string) => PendingApproval> {
  const shown = new Map((await client.approvals({ limit: 1_000 })).approvals.map((pending) => [pending.run, pending]));
  return (id) => {
    const pending = shown.get(id);
    if (pending === undefined) throw new Error(`${id} asks nobody`);
    return pending;
  };
}

async function decided(client: Client, id: string, word: DecisionWord, as: Principal): Promise<Said> {
  return await saidOf(client.run(id), await shownBy(client, id), word, as);
}

/** What came of it in the end: who gets no answer in time says it again under the same id, and is told what was recorded. */
async function saidOf(run: RunHandle, pending: PendingApproval, word: DecisionWord, as: Principal): Promise<Said> {
  try {
    await run.decide(pending, word, { as, commandId: `${as.id}-${word.is}` });
    return "accepted";
  } catch (error) {
    // Whatever else it is fails the comparison.
    const { code, details } = error as RepriseError;
    return code === "STORE_UNAVAILABLE" ? await saidOf(run, pending, word, as) : { code, by: details?.["by"] };
  }
}

/** Both decide on every run at once, over connections of their own; who says which word takes turns, since one connection is ahead. */
async function atOnce(
  { client, replica }: Top,
  ids: readonly string[],
  words: readonly [DecisionWord, DecisionWord],
): Promise<readonly (readonly [Said, Said])[]> {
  const other = replica();
  const shown = await shownIn(client);
  return await Promise.all(
    ids.map(async (id, at) => {
      const say = (by: Client, word: DecisionWord, as: Principal) => saidOf(by.run(id), shown(id), word, as);
      const [one, another] = at % 2 === 0 ? [client, other] : [other, client];
      return await Promise.all([say(one, words[0], ann), say(another, words[1], bob)]);
    }),
  );
}

/** What they have come to. */
async function ended(client: Client, ids: readonly string[]): Promise<readonly RunStatus[]> {
  const runs = ids.map((id) => client.run(id));
  await Promise.allSettled(runs.map((run) => run.result({ timeout: "60s" })));
  return await Promise.all(runs.map(async (run) => (await run.get()).status));
}

describe("two who decide at once", () => {
  test("R100 both approve: one has decided, the other is told who, and the money goes out once", async () => {
    const top = newTop();
    const { client, world, worker } = top;
    await worker();
    const ids = await asking(client, pairs);
    const said = await atOnce(top, ids, [yes, yes]);
    for (const [first, second] of said) {
      const [loser, winner] = first === "accepted" ? [second, "ann"] : [first, "bob"];
      expect([first, second]).toContain("accepted");
      expect(loser).toEqual({ code: "APPROVAL_TAKEN", by: winner });
    }
    expect(await ended(client, ids)).toEqual(ids.map(() => "completed"));
    expect(world.service("disburse").counts()).toEqual({ arrivals: pairs, effects: pairs });
    await here.prove(
      "R100",
      { top, sagas: [loan], runs: ids },
      { checks: [`${pairs} pairs: one accepted, one TAKEN`] },
    );
  });

  test("R096 one approves and one rejects: one branch is taken, and it is the winner's", async () => {
    const top = newTop();
    const { client, world, worker } = top;
    await worker();
    const ids = await asking(client, pairs);
    const said = await atOnce(top, ids, [yes, no]);
    const statuses = await ended(client, ids);
    const approved = said.filter(([first]) => first === "accepted").length;
    for (const [at, [first, second]] of said.entries()) {
      expect([first, second], JSON.stringify([first, second])).toContain("accepted");
      expect(first).not.toEqual(second);
      expect(statuses[at]).toBe(first === "accepted" ? "completed" : "failed");
    }
    expect(Math.min(approved, pairs - approved)).toBeGreaterThan(0);
    expect(world.service("disburse").counts().effects).toBe(approved);
    expect(world.service("undo-reserve").counts().effects).toBe(pairs - approved);
    const checks = [`${pairs} pairs: ${approved} approved, ${pairs - approved} rejected`];
    await here.prove("R096", { top, sagas: [loan], runs: ids }, { checks });
  });

  test("R103 one approves and one cancels: never is a run cancelled with its money out", async () => {
    const leaves = new Map<string, () => void>();
    const leaving = (id: string) => new Promise<void>((resolve) => void leaves.set(id, resolve));
    const witness = ({ service, run = "" }: WorldArrival) => void (service === "disburse" && leaves.get(run)?.());
    const top = here.top([loan], new FakeWorld({ services, witness }));
    const { client, replica, world, worker } = top;
    await worker();
    const ids = await asking(client, pairs);
    const [other, shown] = [replica(), await shownIn(client)];
    await Promise.all(
      ids.map(async (id, at) => {
        // Half of them are cancelled when it is decided, half when the money is about to leave.
        const now = at % 2 === 0 ? Promise.resolve() : leaving(id);
        const cancels = now.then(() => other.run(id).cancel({ reason: "not wanted", by: "bob" }));
        await Promise.all([saidOf(client.run(id), shown(id), yes, ann), cancels.catch(() => null)]);
      }),
    );
    const statuses = await ended(client, ids);
    const entries = world.effects();
    for (const [at, id] of ids.entries()) {
      const [out, back] = ["disburse", "undo-disburse"].map(
        (service) =>
          entries.filter((effect) => effect.service === service && effect.operationId.includes(`/${id}/`)).length,
      );
      expect([id, statuses[at], (out ?? 0) - (back ?? 0)]).toEqual([
        id,
        statuses[at],
        statuses[at] === "completed" ? 1 : 0,
      ]);
    }
    const cancelled = statuses.filter((status) => status === "cancelled").length;
    expect(Math.min(cancelled, pairs - cancelled)).toBeGreaterThan(0);
    const back = world.service("undo-disburse").counts().effects;
    const checks = [`${pairs} pairs: ${cancelled} cancelled, the money of ${back} taken back, none with money out`];
    await here.prove("R103", { top, sagas: [loan], runs: ids }, { checks });
  });
});

describe("a run that waits for people", () => {
  test("R104 R090 goes on from where it asked: nothing before it is done again", async () => {
    const top = newTop();
    const { client, world, worker } = top;
    await worker();
    const [id = ""] = await asking(client, 1);
    expect(world.service("reserve").counts()).toEqual({ arrivals: 1, effects: 1 });
    expect(await decided(client, id, { is: "ask_back", text: "why so much?" }, ann)).toBe("accepted");
    expect(await decided(client, id, yes, ann)).toBe("accepted");
    expect(await ended(client, [id])).toEqual(["completed"]);
    expect(world.service("reserve").counts()).toEqual({ arrivals: 1, effects: 1 });
    expect(effectsOf(world)).toEqual(["reserve.do", "disburse.do"]);
    const checks = ["what came before is counted once", "a question back re-does nothing"];
    await here.prove(["R104", "R090"], { top, sagas: [loan], runs: [id] }, { checks });
  });

  test("R106 goes on with nothing while nobody can say whether it was let go: a store that is away approves nothing", async () => {
    const top = newTop();
    const { client, world, worker } = top;
    await worker();
    const [id = ""] = await asking(client, 1);
    const pending = await shownBy(client, id);
    const say = () => client.run(id).decide(pending, yes, { as: ann, commandId: "ann-1" });
    here.redis.freeze();
    const refusal = await say().catch((error: RepriseError) => error);
    here.redis.thaw();
    expect(refusal).toMatchObject({ code: "STORE_UNAVAILABLE" });
    // It may have been heard when the store came back; said again, it is recorded once, and only then does the money go out.
    expect(["accepted", "duplicate"]).toContain((await say()).is);
    expect(await ended(client, [id])).toEqual(["completed"]);
    expect(world.service("disburse").counts()).toEqual({ arrivals: 1, effects: 1 });
    const checks = ["no answer is no approval", "said again under its id it is one decision"];
    await here.prove("R106", { top, sagas: [loan], runs: [id] }, { checks });
  });

  test("R106 for ten times a lease is not tried again, no dead letter, and holds no worker", async () => {
    const top = newTop();
    const { client, world, worker, namespace, facts } = top;
    const leaseMs = 800;
    await worker({ concurrency: 1, settings: { leaseMs, marginMs: 600, renewMs: 100, commandTimeoutMs: 500 } });
    const [id = ""] = await asking(client, 1);
    const at = performance.now();
    const revision = (await client.run(id).get()).revision;
    // Another run passes through the one slot of the worker meanwhile.
    await client.start(loan, { id: "other", cents: 1 }, { id: "other" });
    await until(async () => (await client.approvals()).approvals.length === 2);
    await until(() => performance.now() - at > 10 * leaseMs, 20_000);
    const view = await client.run(id).get();
    expect(view).toMatchObject({ status: "waiting", waitingFor: "approval", revision });
    expect(await here.jobsOf(namespace, id)).toEqual([]);
    expect((await client.inbox()).items.map(({ kind }) => kind)).toEqual(["approval", "approval"]);
    expect(facts.filter(({ fact }) => fact === "recovered")).toEqual([]);
    expect(world.service("reserve").counts()).toEqual({ arrivals: 2, effects: 2 });
    for (const each of [id, "other"]) expect(await decided(client, each, yes, ann)).toBe("accepted");
    expect(await ended(client, [id, "other"])).toEqual(["completed", "completed"]);
    const checks = ["the revision stood for ten leases", "no job of it lay in a queue"];
    await here.prove("R106", { top, sagas: [loan], runs: [id, "other"] }, { checks });
  });
});
