/** What would become of a run where only this code is left: it goes on, moves, breaks, or nobody can say. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { MissingArtifact, prospectOf, type RunRecord, stateText, structureHashOf } from "../../src/core/index.ts";
import { type Saga, step } from "../../src/saga/index.ts";
import { Play } from "../support/play.ts";
import { played } from "../support/play-sagas.ts";

interface Parts {
  readonly version?: number;
  readonly states?: object;
  readonly cents?: z.ZodType;
  readonly options?: object;
}

/** Waits for GO, calls `pay`, waits for GO again. */
function order({ version = 1, states = {}, cents = z.int(), options = {} }: Parts = {}): Saga {
  const pay = step("pay", {
    input: z.json(),
    output: z.object({ cents }),
    effect: "keyed",
    noCompensation: "a test",
    action: () => ({ cents: 7 }),
  } as never);
  const config = {
    initial: "idle",
    context: {},
    states: {
      idle: { on: { GO: "paying" } },
      paying: { invoke: { src: "pay", id: "pay", input: 1, onDone: "rest" } },
      rest: { on: { GO: "end" } },
      end: { type: "final" },
      ...states,
    },
  };
  return played(config, [pay as never], { events: ["GO"], version, ...options });
}

const v1 = order();

function at(state: "idle" | "paying" | "rest", patch: Partial<RunRecord> = {}) {
  const play = new Play(v1);
  if (state !== "idle") play.event("GO");
  if (state === "rest") play.answer("pay", { kind: "succeeded", output: { cents: 7 } });
  const { record, rows } = play.run;
  return { record: { ...record, hash: structureHashOf(v1), ...patch }, rows };
}

const migrate = { migrate: { 1: (run: unknown) => run } };

describe("a run goes on", () => {
  test("where its very structure is in the code, whatever else is", () => {
    for (const state of ["idle", "paying", "rest"] as const) {
      expect(prospectOf([order({ version: 2, options: migrate }), v1], at(state))).toEqual({ is: "goes_on" });
    }
    expect(prospectOf([v1], at("idle", { snapshot: null }))).toEqual({ is: "goes_on" });
  });
});

describe("a run moves", () => {
  test("where the code has only newer versions, whose migrations it fits, now or after what is under way", () => {
    const code = [order({ version: 2, options: migrate })];
    expect(prospectOf(code, at("rest"))).toEqual({ is: "moves", to: 2, after: null });
    expect(prospectOf(code, at("paying"))).toEqual({ is: "moves", to: 2, after: "pay (row 1) is under way" });
  });
});

describe("a run breaks", () => {
  const breaking = (code: readonly Saga[], run: ReturnType<typeof at>) => {
    const prospect = prospectOf(code, run);
    return prospect.is === "breaks" ? `${prospect.at}: ${prospect.problem}` : prospect.is;
  };

  test("where its version has another structure", () => {
    expect(breaking([order({ states: { rest: { on: { GO: "idle" } } } })], at("rest"))).toBe(
      "structure: played@1 is another in this code",
    );
  });

  test("where the code has older versions alone, or none that it can be migrated to", () => {
    expect(breaking([v1], at("rest", { version: 3 }))).toBe("version: this code knows played up to version 1");
    expect(breaking([order({ version: 2 })], at("rest"))).toBe(
      "migration: played has no migration from version 1 to 2",
    );
  });

  test("where today's schemas cannot read what is on record", () => {
    const input = z.object({ sku: z.string() });
    expect(breaking([order({ options: { input } })], at("rest"))).toMatch(/^input: sku: .*expected string/);
    expect(breaking([order({ cents: z.string() })], at("rest"))).toMatch(
      /^pay \(row 1\): the output of pay \(row 1\) does not fit: cents: .*expected string/,
    );
  });

  test("where its state cannot be restored", () => {
    const lost = { value: "nowhere", context: {}, status: "active" } as const;
    expect(breaking([v1], at("rest", { snapshot: lost }))).toMatch(
      /^state: the state "nowhere" is none of this machine/,
    );
  });
});

test("nobody can say of a run whose values are not at hand", () => {
  const lost = new MissingArtifact({ hash: "h", bytes: 7, why: "no_store" }, { $artifact: "h" });
  const prospect = prospectOf([v1], at("rest", { input: lost }));
  expect(prospect).toMatchObject({ is: "unread", problem: expect.stringContaining("the input") });
});

test("a run of a saga that the code does not have is somebody else's", () => {
  expect(prospectOf([v1], at("rest", { saga: "trip" }))).toEqual({ is: "elsewhere" });
});

test("where a run stands is told in words", () => {
  expect(stateText({ snapshot: null })).toBe("not begun");
  expect(stateText(at("rest").record)).toBe("rest");
  expect(stateText({ snapshot: { value: { a: "b" }, context: null, status: "active" } })).toBe('{"a":"b"}');
});
