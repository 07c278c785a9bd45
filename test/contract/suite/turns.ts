import { expect, test } from "vitest";
import { turnOf } from "../../../src/core/index.ts";
import { fresh } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

const hourMs = 3_600_000;

export function turnContract(current: Current): void {
  const lineOf = () => turnOf("default", "order", fresh("key"));
  type Turn = ReturnType<typeof lineOf>;
  const ask = (turn: Turn, run: string, startedAt = epochMs, limit = 1) =>
    current.store.askTurn({ turn, run, startedAt, limit, asked: 1 });
  const give = async (turn: Turn, run: string, limit = 1) =>
    (await current.store.giveTurn({ turn, run, limit, asked: 1 })).next;
  /** Under another number than the first. */
  const askUnder = (asked: number, turn: Turn, run: string) =>
    current.store.askTurn({ turn, run, startedAt: epochMs, limit: 1, asked });
  const giveUnder = async (asked: number | null, turn: Turn, run: string) =>
    (await current.store.giveTurn({ turn, run, limit: 1, asked })).next;
  const mine = { answer: "MINE", now: epochMs };
  const named = (...runs: readonly string[]) => runs.map((run) => ({ run, asked: 1 }));

  test("the first that asks has the turn, and is told so again and again", async () => {
    const turn = lineOf();
    expect(await ask(turn, "a")).toEqual(mine);
    expect(await ask(turn, "a")).toEqual(mine);
  });

  test("the others wait, and hear how many stand before them and who", async () => {
    const turn = lineOf();
    await ask(turn, "a");
    expect(await ask(turn, "b")).toEqual({ answer: "WAIT", ahead: 0, before: named("a"), now: epochMs });
    expect(await ask(turn, "c")).toEqual({ answer: "WAIT", ahead: 1, before: named("a", "b"), now: epochMs });
    expect(await ask(turn, "b")).toMatchObject({ answer: "WAIT", ahead: 0 });
  });

  test("lines of other keys, sagas and tenants have nothing to do with it", async () => {
    const key = fresh("key");
    await ask(turnOf("default", "order", key), "a");
    expect(await ask(turnOf("default", "order", fresh("key")), "b")).toEqual(mine);
    expect(await ask(turnOf("default", "loan", key), "b")).toEqual(mine);
    expect(await ask(turnOf("acme", "order", key), "b")).toEqual(mine);
  });

  test("a turn that is given is the next one's in order of start, whoever asks first", async () => {
    const turn = lineOf();
    await ask(turn, "a");
    await ask(turn, "late", epochMs + 20);
    await ask(turn, "early", epochMs + 10);
    expect(await give(turn, "a")).toEqual(["early"]);
    expect(await ask(turn, "late")).toMatchObject({ answer: "WAIT", ahead: 1, before: named("early") });
    expect(await ask(turn, "early")).toEqual(mine);
    expect(await give(turn, "early")).toEqual(["late"]);
    expect(await ask(turn, "late")).toEqual(mine);
  });

  test("of those started in the same ms the one that asked first comes first, whatever its name", async () => {
    const turn = lineOf();
    await ask(turn, "owner");
    const names = Array.from({ length: 50 }, (_, n) => `run-${(n * 37) % 50}`);
    for (const name of names) await ask(turn, name);
    const served: string[] = [];
    for (let next = await give(turn, "owner"); next[0] !== undefined; next = await give(turn, next[0])) {
      expect(await ask(turn, next[0])).toEqual(mine);
      served.push(next[0]);
    }
    expect(served).toEqual(names);
  });

  test("where one of them was served meanwhile, the others keep their order", async () => {
    const turn = lineOf();
    for (const name of ["owner", "z", "y", "x"]) await ask(turn, name);
    expect(await give(turn, "owner")).toEqual(["z"]);
    await ask(turn, "z");
    await ask(turn, "a");
    expect(await give(turn, "z")).toEqual(["y"]);
    await ask(turn, "y");
    expect(await give(turn, "y")).toEqual(["x"]);
    await ask(turn, "x");
    expect(await give(turn, "x")).toEqual(["a"]);
  });

  test("as many have a turn at once as the limit says, and as many are next", async () => {
    const turn = lineOf();
    const names = Array.from({ length: 6 }, (_, n) => `r${n}`);
    const answers = [];
    for (const name of names) answers.push((await ask(turn, name, epochMs, 3)).answer);
    expect(answers).toEqual(["MINE", "MINE", "MINE", "WAIT", "WAIT", "WAIT"]);
    expect(await give(turn, "r1", 3)).toEqual(["r3"]);
    expect(await give(turn, "r0", 3)).toEqual(["r3", "r4"]);
    expect(await ask(turn, "r4", epochMs, 3)).toEqual(mine);
    expect(await ask(turn, "r5", epochMs, 3)).toMatchObject({ answer: "WAIT", ahead: 1 });
  });

  test("who stands at the front is served before who stands behind, even when it is slow to ask", async () => {
    const turn = lineOf();
    for (const name of ["a", "b", "c"]) await ask(turn, name);
    await give(turn, "a");
    expect(await ask(turn, "c")).toMatchObject({ answer: "WAIT" });
    expect(await ask(turn, "b")).toEqual(mine);
  });

  test("whoever leaves the line makes room for the one behind", async () => {
    const turn = lineOf();
    for (const name of ["a", "b", "c"]) await ask(turn, name);
    expect(await give(turn, "b")).toEqual([]);
    expect(await give(turn, "a")).toEqual(["c"]);
  });

  test("given twice it is given once, and the next is told again", async () => {
    const turn = lineOf();
    for (const name of ["a", "b", "c"]) await ask(turn, name);
    expect(await give(turn, "a")).toEqual(["b"]);
    expect(await give(turn, "a")).toEqual(["b"]);
    await ask(turn, "b");
    expect(await give(turn, "a")).toEqual([]);
    expect(await ask(turn, "c")).toMatchObject({ answer: "WAIT" });
  });

  test("a request that comes after the turn was given takes none", async () => {
    const turn = lineOf();
    await ask(turn, "a");
    await give(turn, "a");
    expect(await ask(turn, "a")).toEqual({ answer: "GONE", now: epochMs });
    await give(turn, "never-asked");
    expect((await ask(turn, "never-asked")).answer).toBe("GONE");
    expect(await ask(turn, "b")).toEqual(mine);
  });

  test("who has given is forgotten after an hour, and not before, however often it gives", async () => {
    const turn = lineOf();
    await give(turn, "a");
    await current.bench.advance(hourMs - 1);
    await give(turn, "a");
    expect((await ask(turn, "a")).answer).toBe("GONE");
    await current.bench.advance(1);
    expect((await ask(turn, "a")).answer).toBe("MINE");
  });

  test("a turn that is given under an older number than its run has asked under since stays its own", async () => {
    const turn = lineOf();
    await ask(turn, "a");
    await ask(turn, "b");
    expect(await askUnder(7, turn, "a")).toEqual(mine);
    expect(await giveUnder(6, turn, "a")).toEqual([]);
    expect(await ask(turn, "b")).toMatchObject({ answer: "WAIT", before: [{ run: "a", asked: 7 }] });
    expect(await askUnder(7, turn, "a")).toEqual(mine);
  });

  test("it is given under the newest number, under one that is newer still, and by whoever has no number", async () => {
    for (const asked of [7, 8, null]) {
      const turn = lineOf();
      await ask(turn, "a");
      await ask(turn, "b");
      await askUnder(7, turn, "a");
      expect(await giveUnder(asked, turn, "a")).toEqual(["b"]);
      expect(await ask(turn, "b")).toEqual(mine);
    }
  });

  test("an older number that comes later is not the newest", async () => {
    const turn = lineOf();
    await askUnder(7, turn, "a");
    expect(await ask(turn, "a")).toEqual(mine);
    await giveUnder(6, turn, "a");
    expect(await ask(turn, "b")).toMatchObject({ answer: "WAIT", before: [{ run: "a", asked: 7 }] });
  });

  test("a place in line is left under such a number only, too", async () => {
    const turn = lineOf();
    for (const name of ["a", "b", "c"]) await ask(turn, name);
    await askUnder(7, turn, "b");
    await giveUnder(6, turn, "b");
    expect(await give(turn, "a")).toEqual(["b"]);
    expect(await giveUnder(7, turn, "b")).toEqual(["c"]);
  });

  test("who is told of nothing that was given hears all the same who may ask", async () => {
    const turn = lineOf();
    for (const name of ["a", "b", "c"]) await ask(turn, name);
    await askUnder(7, turn, "a");
    await askUnder(7, turn, "b");
    await giveUnder(7, turn, "a");
    expect(await giveUnder(6, turn, "b")).toEqual(["b"]);
  });

  test("a run that has given and asks under a newer number was brought back: it stands in line again, in its place", async () => {
    const turn = lineOf();
    for (const name of ["a", "b"]) await ask(turn, name);
    await ask(turn, "c", epochMs + 1);
    await giveUnder(5, turn, "a");
    await ask(turn, "b");
    expect((await askUnder(5, turn, "a")).answer).toBe("GONE");
    expect(await askUnder(6, turn, "a")).toMatchObject({ answer: "WAIT", ahead: 0 });
    expect(await give(turn, "b")).toEqual(["a"]);
    expect(await askUnder(6, turn, "a")).toEqual(mine);
    expect(await giveUnder(5, turn, "a")).toEqual([]);
    expect(await giveUnder(6, turn, "a")).toEqual(["c"]);
    expect((await askUnder(6, turn, "a")).answer).toBe("GONE");
  });

  test("given without a number, it is still known under which it had asked; who never had stays gone", async () => {
    const turn = lineOf();
    await askUnder(5, turn, "a");
    await giveUnder(null, turn, "a");
    expect((await askUnder(5, turn, "a")).answer).toBe("GONE");
    expect((await askUnder(6, turn, "a")).answer).toBe("MINE");
    await giveUnder(null, turn, "b");
    expect((await askUnder(9, turn, "b")).answer).toBe("GONE");
  });

  test("the number of a run is forgotten with it, an hour after it has given, and not while it has a turn", async () => {
    const turn = lineOf();
    for (const name of ["a", "b"]) await askUnder(7, turn, name);
    await giveUnder(7, turn, "a");
    await askUnder(7, turn, "b");
    await current.bench.advance(hourMs);
    await giveUnder(6, turn, "b");
    await give(turn, "c");
    expect((await askUnder(1, turn, "a")).answer).toBe("WAIT");
    expect(await askUnder(1, turn, "d")).toMatchObject({
      before: [
        { run: "b", asked: 7 },
        { run: "a", asked: 1 },
      ],
    });
  });

  test("of very many it names the first ten that have a turn, and the first ten that wait", async () => {
    const turn = lineOf();
    const limit = 12;
    for (let n = 0; n < limit; n += 1) await ask(turn, `o${String(n).padStart(2, "0")}`, epochMs, limit);
    for (let n = 0; n < 15; n += 1) await ask(turn, `w${n}`, epochMs, limit);
    const answer = await ask(turn, "last", epochMs, limit);
    const owners = Array.from({ length: 10 }, (_, n) => `o${String(n).padStart(2, "0")}`);
    const waiting = Array.from({ length: 10 }, (_, n) => `w${n}`);
    expect(answer).toMatchObject({ answer: "WAIT", ahead: 15, before: named(...owners, ...waiting) });
  });

  test("of fifty that ask at once for three turns three have one", async () => {
    const turn = lineOf();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(turn, `r${n}`, epochMs, 3)));
    expect(answers.filter(({ answer }) => answer === "MINE")).toHaveLength(3);
  });

  test("whoever is no run, or was told no limit, is refused and nothing is written", async () => {
    const turn = lineOf();
    await expect(ask(turn, "no:run")).rejects.toMatchObject({ code: "ID_INVALID" });
    for (const limit of [0, 1.5, 1_001]) {
      await expect(ask(turn, "a", epochMs, limit)).rejects.toMatchObject({ code: "INPUT_INVALID" });
      await expect(give(turn, "a", limit)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    }
    expect(await ask(turn, "b")).toEqual(mine);
  });
}
