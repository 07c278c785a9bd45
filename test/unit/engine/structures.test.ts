import { describe, expect, test } from "vitest";
import { z } from "zod";
import { registrationOf } from "../../../src/core/index.ts";
import { checkDurability, registerAll } from "../../../src/engine/structures.ts";
import { saga, step } from "../../../src/saga/index.ts";

const input = z.object({});
const act = (effect: "once" | "keyed") => step("act", { input, effect, action: () => null, noCompensation: "a test" });
const line = (effect: "once" | "keyed") =>
  saga("line", { version: 1, input })
    .step(act(effect), () => ({}))
    .build();
const store = (durability: "always" | "barrier" | "forgetful") => ({ durability: async () => durability });

describe("a `once` effect on a store that may forget", () => {
  test("is refused, naming the step and the ways out", async () => {
    await expect(checkDurability(store("forgetful"), [line("once")], false)).rejects.toMatchObject({
      code: "STORE_FORGETFUL",
      message: expect.stringMatching(/line\.act.*appendfsync always.*allowForgetfulStore/),
    });
  });

  test("is run when that is allowed, and where nothing is forgotten", async () => {
    await expect(checkDurability(store("forgetful"), [line("once")], true)).resolves.toBe("forgetful");
    await expect(checkDurability(store("always"), [line("once")], false)).resolves.toBe("always");
    await expect(checkDurability(store("barrier"), [line("once")], false)).resolves.toBe("barrier");
  });

  test("is no matter where there is none", async () => {
    await expect(checkDurability(store("forgetful"), [line("keyed")], false)).resolves.toBe("forgetful");
  });
});

describe("a changed structure", () => {
  test("is refused with the places that differ while runs of the old one are open", async () => {
    const registered = { ...registrationOf(line("keyed")), hash: "old" };
    const register = async () => ({ answer: "CHANGED", registered, openRuns: 3 }) as const;
    await expect(registerAll({ register }, [line("once")], { emit: () => undefined })).rejects.toMatchObject({
      code: "STRUCTURE_CHANGED",
      message:
        "line@1 is not what 3 open runs are pinned to; since then:\n  step act: effect keyed -> once\n" +
        "Make it version 2, and keep line@1 as it was beside it until those runs have ended; or wait until they have. " +
        "`reprise check` says what becomes of each",
    });
  });

  test("is told when it takes the place of one that no open run is pinned to", async () => {
    const mine = registrationOf(line("keyed"));
    const replaced = { ...mine, hash: "old", structure: mine.structure.replace("keyed", "once") };
    const told: unknown[] = [];
    await registerAll({ register: async () => ({ answer: "OK", replaced }) }, [line("keyed")], {
      emit: (fact) => told.push(fact),
    });
    expect(told).toEqual([
      {
        fact: "structure_replaced",
        saga: "line",
        version: 1,
        from: "old",
        to: mine.hash,
        differences: ["step act: effect once -> keyed"],
      },
    ]);
    await registerAll({ register: async () => ({ answer: "OK" }) }, [line("keyed")], {
      emit: (fact) => told.push(fact),
    });
    expect(told).toHaveLength(1);
  });

  test("is told, and no more, where only schemas are others; not where an older process registered none", async () => {
    const told: unknown[] = [];
    const facts = { emit: (fact: unknown) => told.push(fact) };
    const mine = registrationOf(line("keyed"));
    const replaced = { ...mine, schemas: mine.schemas.replace('"object"', '"string"') };
    await registerAll({ register: async () => ({ answer: "OK", replaced }) }, [line("keyed")], facts);
    expect(told).toMatchObject([
      { fact: "schemas_changed", version: 1, differences: ['schema of input: type: "string" -> "object"'] },
    ]);
    const before = { ...mine, schemas: "" };
    await registerAll({ register: async () => ({ answer: "OK", replaced: before }) }, [line("keyed")], facts);
    expect(told).toHaveLength(1);
  });
});
