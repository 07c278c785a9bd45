/**
 * SIGKILL around the commit in which a run moves to another version: it has moved whole, with what it was kept beside it, or not at
 * all; whoever takes it over moves it once, and what it had done stays done.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { begin, diesByPlan, prove, toldOf } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { sagas } from "../support/fault-sagas.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const run = { tenant, id: "r1" };

/** What the log says of moves, as `1 -> 2`. */
async function movesOf(room: Room): Promise<readonly string[]> {
  const taken = (await room.log()).flatMap((entry) => entry.taken);
  return taken.flatMap((each) => (each.what === "migrated" ? [`${each.from} -> ${each.to}`] : []));
}

describe.concurrent.each([
  ["before it is committed that it has moved", { point: "M01" }, 1],
  ["when that is committed", { point: "M02" }, 2],
] as const satisfies readonly (readonly [string, Plan, number])[])("killed %s", (_, plan, version) => {
  test("a run is found at one of its versions, whole, and ends by the newer one", async () => {
    const parts = await begin(stage, { name: `migrate-${plan.point}` }, plan);
    const { room } = parts;
    await room.client.start(sagas.moving, { id: "r1", refuse: false }, run);
    room.history.push({ op: "start", run, outcome: "ok" });
    const before = await room.rest("r1", ({ status }) => status === "waiting");
    expect(before.version).toBe(1);
    await room.client.migrate(run, { by: "ann", reason: "the second has a tag", to: 2 });
    const crashed = await diesByPlan(parts, plan);

    const found = await room.record();
    const { hash, snapshot, revision } = before;
    const moved = { version: 2, input: { id: "r1", refuse: false, moved: true } };
    const kept = { version: 1, hash, snapshot, revision };
    if (version === 1)
      expect(found).toMatchObject({ version: 1, hash, input: before.input, revision, migratedFrom: null });
    else expect(found).toMatchObject({ ...moved, revision: revision + 1, migratedFrom: kept });
    expect(await movesOf(room)).toEqual(version === 1 ? [] : ["1 -> 2"]);

    const rescuer = await stage.rescuer();
    await rescuer.serve(room.namespace);
    const there = await room.rest("r1", (record) => record.version === 2 && record.status === "waiting");
    expect(there).toMatchObject({ ...moved, migratedFrom: kept });
    await room.client.run("r1", { tenant, saga: sagas.moved }).signal("GO", {});
    expect((await room.rest()).status, await toldOf(room)).toBe("completed");
    expect(await movesOf(room)).toEqual(["1 -> 2"]);
    const { counts } = await prove(["migrate-crash", plan.point], crashed);
    for (const step of ["charge", "tag", "letter"]) expect(counts[step]).toMatchObject({ arrivals: 1, effects: 1 });
  });
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around a move" });
  });
});
