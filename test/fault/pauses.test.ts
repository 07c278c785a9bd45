/**
 * Pauses against real deaths: a worker is killed while a call of a run that is paused (or whose saga is) is out. Whoever comes next
 * finds the pause, begins nothing, and goes on once it is over; nothing is done twice.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crashByWorld, prove } from "../support/fault-crash.ts";
import { tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const why = { by: "ann", reason: "the bank is down" };
const pauses = {
  run: {
    begin: (room: Room) => room.client.run("r1", { tenant }).pause(why),
    end: (room: Room) => room.client.run("r1", { tenant }).resume(why),
  },
  saga: {
    begin: async (room: Room) => void (await room.client.pauseSaga("whole", why)),
    end: (room: Room) => room.client.resumeSaga("whole", why),
  },
} as const;

describe.concurrent("a worker that is killed while what it drives is paused", () => {
  test.each(Object.entries(pauses))(
    "a %s: nothing goes on before that is over, and then all of it, once",
    async (what, pause) => {
      const crashed = await crashByWorld(stage, { name: `pause-${what}` }, { service: "charge", applied: true });
      const { room } = crashed;
      await pause.begin(room);
      const rescuer = await stage.rescuer();
      await rescuer.serve(room.namespace);
      // A run of another saga comes to its end there: so it has looked at what there is to do.
      await room.start("errand", { id: "r2" });
      await room.rest("r2");
      const isSeen = async () => what === "saga" || (await room.record()).paused;
      await waitFor(isSeen, { timeoutMs: 30_000, what: "the pause to be taken" });
      expect((await room.counts())["fee"]).toBeUndefined();
      await pause.end(room);
      await room.rest();
      const { record, counts } = await prove("PAUSE-crash", crashed);
      expect(record.status).toBe("completed");
      expect(counts["charge"]).toMatchObject({ effects: 1 });
      expect(counts["letter"]).toMatchObject({ arrivals: 1, effects: 1 });
    },
  );
});
