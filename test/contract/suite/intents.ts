import { describe, expect, test } from "vitest";
import {
  type ClaimIntentCommand,
  type IntentOutcome,
  type IntentRef,
  intentOf,
  type PublishIntentCommand,
} from "../../../src/core/company/intents.ts";
import { fresh } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

const hourMs = 3_600_000;
/** The default of `maxPayloadBytes`: what an outcome may take. */
const maxOutcomeBytes = 1_000_000;
const paid: IntentOutcome = { state: "succeeded", outcome: { paid: true } };

export function intentContract(current: Current): void {
  const anIntent = (): IntentRef => intentOf("default", "step", ["refund", fresh("charge")]);
  const claimOf = (intent: IntentRef, owner: string, patch: Partial<ClaimIntentCommand> = {}): ClaimIntentCommand => ({
    intent,
    owner,
    argsHash: "args-1",
    claimMs: null,
    keepMs: null,
    replaces: null,
    listens: true,
    ...patch,
  });
  const claim = (...asked: Parameters<typeof claimOf>) => current.store.claimIntent(claimOf(...asked));
  const publish = (intent: IntentRef, owner: string, became: IntentOutcome, keepMs: number | null = null) => {
    const command: PublishIntentCommand = { intent, owner, became, keepMs };
    return current.store.publishIntent(command);
  };
  const nobody = { waiters: [], reusers: [] };

  describe("claiming", () => {
    test("the first owner is told MINE again and again, with the same generation", async () => {
      const intent = anIntent();
      for (let n = 0; n < 3; n += 1) {
        expect(await claim(intent, "a")).toEqual({ answer: "MINE", generation: 1, now: epochMs });
      }
      await current.bench.advance(400 * 24 * hourMs);
      expect(await claim(intent, "a")).toMatchObject({ answer: "MINE", generation: 1 });
    });

    test("others are told BUSY, by whom and since when, however old the claim is", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      const since = { owner: "a", generation: 1, state: "claimed", claimedAt: epochMs, until: null, heard: true };
      expect(await claim(intent, "b")).toEqual({ answer: "BUSY", ...since, now: epochMs });
      await current.bench.advance(400 * 24 * hourMs);
      expect(await claim(intent, "b")).toMatchObject({ answer: "BUSY", ...since });
    });

    test("of fifty who claim at once one is told MINE, the others BUSY by it", async () => {
      const intent = anIntent();
      const names = Array.from({ length: 50 }, (_, n) => `owner-${n}`);
      const answers = await Promise.all(names.map((name) => claim(intent, name)));
      const winner = names[answers.findIndex(({ answer }) => answer === "MINE")];
      const others = answers.filter(({ answer }) => answer !== "MINE");
      expect(others).toHaveLength(49);
      for (const other of others) expect(other).toMatchObject({ answer: "BUSY", owner: winner });
    });

    test("other arguments are a CONFLICT with both hashes, whether it is claimed, unknown or done, and for its owner too", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      const conflict = { answer: "CONFLICT", owner: "a", argsHash: "args-1", asked: "args-2", now: epochMs };
      const asked = async () => {
        expect(await claim(intent, "b", { argsHash: "args-2" })).toEqual(conflict);
        expect(await claim(intent, "a", { argsHash: "args-2" })).toEqual(conflict);
      };
      await asked();
      await publish(intent, "a", { state: "unknown" });
      await asked();
      await publish(intent, "a", paid);
      await asked();
      expect(await claim(intent, "b")).toMatchObject({ answer: "DONE" });
    });

    test("another key, another tenant and another kind are other intents", async () => {
      const key = ["refund", fresh("charge")];
      const intents = [
        intentOf("default", "step", key),
        intentOf("default", "step", [...key, "again"]),
        intentOf("acme", "step", key),
        intentOf("default", "request", key),
      ];
      for (const intent of intents) expect(await claim(intent, fresh("o"))).toMatchObject({ answer: "MINE" });
    });

    test("a name that is empty or too long, or a tenant that is none, is refused: ID_INVALID", async () => {
      const refused = { code: "ID_INVALID" };
      const intent = anIntent();
      await expect(claim(intent, "")).rejects.toMatchObject(refused);
      await expect(claim(intent, "x".repeat(201))).rejects.toMatchObject(refused);
      await expect(publish(intent, "", paid)).rejects.toMatchObject(refused);
      await expect(claim({ ...intent, tenant: "a:b" }, "a")).rejects.toMatchObject(refused);
      expect(await claim(intent, "x".repeat(200))).toMatchObject({ answer: "MINE", generation: 1 });
    });
  });

  describe("publishing", () => {
    test("succeeded makes it DONE with its outcome, for its owner too", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      expect(await publish(intent, "a", paid)).toEqual({ answer: "OK", generation: 1, ...nobody, now: epochMs });
      const done = { answer: "DONE", owner: "a", generation: 1, outcome: { paid: true } };
      expect(await claim(intent, "b")).toEqual({ ...done, heard: true, now: epochMs });
      expect(await claim(intent, "a")).toEqual({ ...done, heard: false, now: epochMs });
    });

    test.each(["not_applied", "withdrawn", "undone"] as const)(
      "%s frees it: the next claim is MINE, of a higher generation, with other arguments too",
      async (state) => {
        const intent = anIntent();
        await claim(intent, "a");
        expect(await publish(intent, "a", { state })).toMatchObject({ answer: "OK", generation: 1 });
        expect(await claim(intent, "b", { argsHash: "args-2" })).toMatchObject({ answer: "MINE", generation: 2 });
        expect(await claim(intent, "c", { argsHash: "args-2" })).toMatchObject({ answer: "BUSY", owner: "b" });
        await publish(intent, "b", { state });
        expect(await claim(intent, "c")).toMatchObject({ answer: "MINE", generation: 3 });
      },
    );

    test("what is undone is free, and tells those who reused it", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await publish(intent, "a", paid);
      await claim(intent, "b");
      await claim(intent, "c");
      const told = { generation: 1, waiters: [], reusers: ["b", "c"] };
      expect(await publish(intent, "a", { state: "undone" })).toEqual({ answer: "OK", ...told, now: epochMs });
      expect(await publish(intent, "a", { state: "undone" })).toEqual({ answer: "DUP", ...told, now: epochMs });
      expect(await claim(intent, "b")).toMatchObject({ answer: "MINE", generation: 2 });
    });

    test("unknown stays BUSY, for its owner too, until its owner knows", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      expect(await publish(intent, "a", { state: "unknown" })).toMatchObject({ answer: "OK" });
      const busy = { answer: "BUSY", owner: "a", state: "unknown" };
      expect(await claim(intent, "b")).toMatchObject(busy);
      expect(await claim(intent, "a")).toMatchObject(busy);
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "OK" });
      expect(await claim(intent, "b")).toMatchObject({ answer: "DONE", outcome: { paid: true } });
    });

    test("anybody but its owner is FENCED and changes nothing, and so is everybody where there is no claim", async () => {
      const intent = anIntent();
      expect(await publish(intent, "a", paid)).toEqual({ answer: "FENCED", now: epochMs });
      await claim(intent, "a");
      for (const state of ["not_applied", "withdrawn", "undone", "unknown"] as const) {
        expect(await publish(intent, "b", { state })).toEqual({ answer: "FENCED", now: epochMs });
      }
      expect(await publish(intent, "b", paid)).toEqual({ answer: "FENCED", now: epochMs });
      expect(await claim(intent, "c")).toMatchObject({ answer: "BUSY", owner: "a", state: "claimed" });
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "OK" });
    });

    test.each(["withdrawn", "not_applied", "undone"] as const)(
      "a claim that comes here only after its owner has published %s owns nothing, and keeps nobody waiting",
      async (state) => {
        const intent = anIntent();
        expect(await publish(intent, "a", { state })).toMatchObject({ answer: "FENCED" });
        expect(await claim(intent, "a")).toEqual({ answer: "GONE", now: epochMs });
        expect(await claim(intent, "b")).toMatchObject({ answer: "MINE", generation: 1 });
        expect(await claim(intent, "a")).toMatchObject({ answer: "BUSY", owner: "b" });
      },
    );

    test("what an owner published first stands; only undone follows succeeded", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await publish(intent, "a", paid);
      for (const state of ["not_applied", "withdrawn", "unknown"] as const) {
        expect(await publish(intent, "a", { state })).toMatchObject({ answer: "DUP", generation: 1 });
      }
      const other: IntentOutcome = { state: "succeeded", outcome: "other" };
      expect(await publish(intent, "a", other)).toMatchObject({ answer: "DUP", generation: 1 });
      expect(await claim(intent, "b")).toMatchObject({ answer: "DONE", outcome: { paid: true } });
      expect(await publish(intent, "a", { state: "undone" })).toMatchObject({ answer: "OK" });
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "DUP" });
      expect(await claim(intent, "b")).toMatchObject({ answer: "MINE", generation: 2 });
    });

    test("a repeat that comes after the next owner's claim is still a DUP with the same reusers, and takes nothing from it", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await publish(intent, "a", paid);
      await claim(intent, "reuser");
      await publish(intent, "a", { state: "undone" });
      await claim(intent, "b");
      const again = await publish(intent, "a", { state: "undone" });
      expect(again).toMatchObject({ answer: "DUP", generation: 1, reusers: ["reuser"] });
      await publish(intent, "b", paid);
      expect(await claim(intent, "late")).toMatchObject({ answer: "DONE", owner: "b" });
      expect(await publish(intent, "b", { state: "undone" })).toMatchObject({ generation: 2, reusers: ["late"] });
    });

    test("a claim held up on its way, after its owner has published that nothing is left, owns nothing: GONE", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await publish(intent, "a", { state: "withdrawn" });
      expect(await claim(intent, "a")).toEqual({ answer: "GONE", now: epochMs });
      expect(await claim(intent, "a.2")).toMatchObject({ answer: "MINE", generation: 2 });
    });

    test("a claim held up on its way, after it was given up without the intent, owns nothing, whoever has it by then: GONE", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await claim(intent, "b");
      for (let n = 0; n < 2; n += 1) {
        expect(await publish(intent, "b", { state: "withdrawn" })).toEqual({ answer: "FENCED", now: epochMs });
      }
      expect(await claim(intent, "b")).toEqual({ answer: "GONE", now: epochMs });
      expect(await publish(intent, "a", { state: "not_applied" })).toMatchObject({ answer: "OK", waiters: [] });
      expect(await claim(intent, "b")).toEqual({ answer: "GONE", now: epochMs });
      expect(await claim(intent, "c")).toMatchObject({ answer: "MINE", generation: 2 });
      expect(await claim(intent, "b")).toEqual({ answer: "GONE", now: epochMs });
    });

    test("an outcome at the size limit comes back as it was, and of any kind of JSON", async () => {
      const large = { text: "ä\n€".repeat(Math.floor((maxOutcomeBytes - 11) / 7)) };
      expect(Buffer.byteLength(JSON.stringify(large))).toBeGreaterThan(maxOutcomeBytes - 8);
      for (const outcome of [large, null, "", 0, false, [], { a: [1e300, "\u0000\ud800"] }]) {
        const intent = anIntent();
        await claim(intent, "a");
        await publish(intent, "a", { state: "succeeded", outcome });
        const answer = await claim(intent, "b");
        expect(answer).toMatchObject({ answer: "DONE" });
        // Not toEqual: it would print a million bytes.
        expect(answer.answer === "DONE" && JSON.stringify(answer.outcome) === JSON.stringify(outcome)).toBe(true);
      }
    });
  });

  describe("listeners", () => {
    test("waiters are told of every outcome until they have asked again; then they are reusers or owners", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await claim(intent, "b");
      await claim(intent, "c");
      expect(await publish(intent, "a", paid)).toMatchObject({ waiters: ["b", "c"], reusers: [] });
      await claim(intent, "b");
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "DUP", waiters: ["c"], reusers: ["b"] });
      expect(await publish(intent, "a", { state: "undone" })).toMatchObject({ waiters: ["c"], reusers: ["b"] });
      expect(await claim(intent, "c")).toMatchObject({ answer: "MINE" });
      expect(await publish(intent, "c", { state: "withdrawn" })).toMatchObject({ waiters: [], reusers: [] });
    });

    test("asking again makes nobody listen twice, and who does not want to listen does not", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await claim(intent, "b");
      await claim(intent, "b");
      expect(await claim(intent, "c", { listens: false })).toMatchObject({ answer: "BUSY", heard: false });
      expect(await publish(intent, "a", paid)).toMatchObject({ waiters: ["b"] });
      expect(await claim(intent, "c", { listens: false })).toMatchObject({ answer: "DONE", heard: false });
      expect(await publish(intent, "a", { state: "undone" })).toMatchObject({ waiters: ["b"], reusers: [] });
    });

    test("a hundred listen; the next one is told that it is not heard, until there is room", async () => {
      const intent = anIntent();
      const names = Array.from({ length: 100 }, (_, n) => `w-${String(n).padStart(3, "0")}`);
      await claim(intent, "a");
      for (const name of names) expect(await claim(intent, name)).toMatchObject({ heard: true });
      expect(await claim(intent, "late")).toMatchObject({ answer: "BUSY", heard: false });
      expect(await claim(intent, "w-000")).toMatchObject({ answer: "BUSY", heard: true });
      const published = await publish(intent, "a", { state: "not_applied" });
      expect(published).toMatchObject({ answer: "OK", waiters: names });
      await claim(intent, "w-000");
      expect(await claim(intent, "late")).toMatchObject({ answer: "BUSY", owner: "w-000", heard: true });
    });
  });

  describe("a claim that can be over", () => {
    const claimMs = 60_000;

    test("is BUSY until then and after: nobody gets it by age", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await current.bench.advance(claimMs);
      const busy = { answer: "BUSY", owner: "a", state: "claimed", until: epochMs + claimMs, now: epochMs + claimMs };
      expect(await claim(intent, "b", { claimMs })).toMatchObject(busy);
      expect(await claim(intent, "b", { claimMs, replaces: "somebody else" })).toMatchObject(busy);
    });

    test("is not replaced before it is over", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await current.bench.advance(claimMs - 1);
      expect(await claim(intent, "b", { claimMs, replaces: "a" })).toMatchObject({ answer: "BUSY", owner: "a" });
    });

    test("is renewed by its owner's own claim, over or not, as long as nobody replaced it", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await current.bench.advance(claimMs + 5);
      expect(await claim(intent, "a", { claimMs })).toMatchObject({ answer: "MINE", generation: 1 });
      const until = epochMs + 5 + 2 * claimMs;
      expect(await claim(intent, "b", { claimMs, replaces: "a" })).toMatchObject({ answer: "BUSY", until });
    });

    test("once over, goes to one of those who name its owner; the old owner is FENCED from then on", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await current.bench.advance(claimMs);
      const names = ["b", "c", "d"];
      const answers = await Promise.all(names.map((name) => claim(intent, name, { claimMs, replaces: "a" })));
      const winner = names[answers.findIndex(({ answer }) => answer === "MINE")] ?? "";
      expect(answers.map(({ answer }) => answer).sort()).toEqual(["BUSY", "BUSY", "MINE"]);
      expect(answers).toContainEqual({ answer: "MINE", generation: 2, now: epochMs + claimMs });
      for (const became of [paid, { state: "withdrawn" }, { state: "unknown" }] as const) {
        expect(await publish(intent, "a", became)).toMatchObject({ answer: "FENCED" });
      }
      expect(await claim(intent, "late", { claimMs })).toMatchObject({ answer: "BUSY", owner: winner });
      expect(await publish(intent, winner, paid)).toMatchObject({ answer: "OK", generation: 2 });
    });

    test("is published by its owner as long as nobody replaced it, however late", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await current.bench.advance(2 * claimMs);
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "OK" });
      expect(await claim(intent, "b", { replaces: "a" })).toMatchObject({ answer: "DONE", owner: "a" });
    });

    test("published as unknown can be replaced at once, and keeps the time at which it is over", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs });
      await publish(intent, "a", { state: "unknown" });
      const busy = { answer: "BUSY", state: "unknown", until: epochMs + claimMs };
      expect(await claim(intent, "b", { claimMs })).toMatchObject(busy);
      expect(await claim(intent, "b", { claimMs, replaces: "a" })).toMatchObject({ answer: "MINE", generation: 2 });
      expect(await publish(intent, "a", paid)).toMatchObject({ answer: "FENCED" });
    });
  });

  describe("retention", () => {
    test("an outcome is kept for its window by the store's time, and asking does not lengthen it", async () => {
      const intent = anIntent();
      await claim(intent, "a");
      await publish(intent, "a", paid, 24 * hourMs);
      for (let n = 0; n < 23; n += 1) {
        await current.bench.advance(hourMs);
        expect(await claim(intent, `reuser-${n}`)).toMatchObject({ answer: "DONE", owner: "a" });
      }
      await current.bench.advance(hourMs - 1);
      expect(await publish(intent, "a", paid, 24 * hourMs)).toMatchObject({ answer: "DUP" });
      expect(await claim(intent, "b")).toMatchObject({ answer: "DONE", owner: "a" });
      await current.bench.advance(1);
      expect(await publish(intent, "a", { state: "undone" })).toMatchObject({ answer: "FENCED" });
      const fresh = await claim(intent, "b", { argsHash: "args-2" });
      expect(fresh).toMatchObject({ answer: "MINE", generation: 1 });
      expect(await publish(intent, "b", paid)).toMatchObject({ answer: "OK", ...nobody });
    });

    test("a claim is kept for ever, or as long as it says; so is what was freed", async () => {
      const [endless, bounded, freed] = [anIntent(), anIntent(), anIntent()];
      await claim(endless, "a");
      await claim(bounded, "a", { claimMs: 1_000, keepMs: 10_000 });
      await claim(freed, "a");
      await publish(freed, "a", { state: "not_applied" }, 10_000);
      await current.bench.advance(9_999);
      expect(await claim(bounded, "b")).toMatchObject({ answer: "BUSY" });
      await current.bench.advance(1);
      expect(await claim(endless, "b")).toMatchObject({ answer: "BUSY" });
      expect(await claim(bounded, "b")).toMatchObject({ answer: "MINE", generation: 1 });
      expect(await claim(freed, "a")).toMatchObject({ answer: "MINE", generation: 1 });
    });

    test("a claim without an end is kept even where the generation before had one", async () => {
      const intent = anIntent();
      await claim(intent, "a", { claimMs: 1_000, keepMs: 10_000 });
      await publish(intent, "a", { state: "not_applied" }, 10_000);
      await claim(intent, "b");
      await current.bench.advance(20_000);
      expect(await claim(intent, "c")).toMatchObject({ answer: "BUSY", owner: "b" });
    });
  });
}
