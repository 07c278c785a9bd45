import { expect, test } from "vitest";
import { turnOf } from "../../../src/core/index.ts";
import { fresh } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

const hourMs = 3_600_000;

export function turnContract(current: Current): void {
  const lineOf = () => turnOf("default", "order", fresh("key"));
  type Turn = ReturnType<typeof lineOf>;
  const ask = (turn: Turn, run: string, startedAt = epochMs, limit = 1) =>
    current.store.askTurn({ turn, run, startedAt, limit });
  const give = async (turn: Turn, run: string, limit = 1) => (await current.store.giveTurn({ turn, run, limit })).next;
  const mine = { answer: "MINE", now: epochMs };

  test("the first that asks has the turn, and is told so again and again", async () => {
    const turn = lineOf();
    expect(await ask(turn, "a")).toEqual(mine);
    expect(await ask(turn, "a")).toEqual(mine);
  });

  test("the others wait, and hear how many stand before them and who", async () => {
    const turn = lineOf();
    await ask(turn, "a");
    expect(await ask(turn, "b")).toEqual({ answer: "WAIT", ahead: 0, before: ["a"], now: epochMs });
    expect(await ask(turn, "c")).toEqual({ answer: "WAIT", ahead: 1, before: ["a", "b"], now: epochMs });
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
    expect(await ask(turn, "late")).toMatchObject({ answer: "WAIT", ahead: 1, before: ["early"] });
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

  test("of very many it names the first ten that have a turn, and the first ten that wait", async () => {
    const turn = lineOf();
    const limit = 12;
    for (let n = 0; n < limit; n += 1) await ask(turn, `o${String(n).padStart(2, "0")}`, epochMs, limit);
    for (let n = 0; n < 15; n += 1) await ask(turn, `w${n}`, epochMs, limit);
    const answer = await ask(turn, "last", epochMs, limit);
    const owners = Array.from({ length: 10 }, (_, n) => `o${String(n).padStart(2, "0")}`);
    const waiting = Array.from({ length: 10 }, (_, n) => `w${n}`);
    expect(answer).toMatchObject({ answer: "WAIT", ahead: 15, before: [...owners, ...waiting] });
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
