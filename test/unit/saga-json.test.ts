import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonProblem, toJson } from "../../src/saga/index.ts";

class Point {
  readonly x = 1;
}
const cycle: Record<string, unknown> = {};
cycle["self"] = { deep: [cycle] };

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

/** What is refused by name, as the key of a property; a text may say it. */
const refusedKey = /"(?:__proto__|constructor|prototype)":/;

describe("what is JSON", () => {
  test("any JSON value passes and comes back as the very same object", () => {
    const passable = fc.jsonValue({ maxDepth: 6 }).filter((value) => !refusedKey.test(JSON.stringify(value)));
    fc.assert(
      fc.property(passable, (value) => {
        expect(jsonProblem(value)).toBeNull();
        const checked = toJson(value);
        expect(checked).toEqual({ ok: true, value });
        if (checked.ok) expect(checked.value).toBe(value);
      }),
    );
  });

  test("an undefined property is left out, whatever its depth, and the original stays", () => {
    const value = { a: 1, b: undefined, c: [{ d: undefined, e: null }] };
    expect(jsonProblem(value)).toBeNull();
    expect(toJson(value)).toEqual({ ok: true, value: { a: 1, c: [{ e: null }] } });
    const checked = toJson(value);
    expect(checked.ok && Object.keys(checked.value as object)).toEqual(["a", "c"]);
    expect(Object.keys(value)).toEqual(["a", "b", "c"]);
  });

  test("objects without a prototype are plain", () => {
    expect(jsonProblem(Object.assign(Object.create(null), { a: 1 }))).toBeNull();
  });

  test("100 levels pass, 101 do not", () => {
    expect(jsonProblem(nested(100))).toBeNull();
    expect(jsonProblem(nested(101))).toMatch(/nested deeper than 100 levels/);
  });
});

describe("what is not JSON is refused with the way to it", () => {
  test.each([
    [{ a: new Map() }, "at .a: an instance of Map is not JSON"],
    [{ a: [1, { b: new Date(0) }] }, "at .a[1].b: an instance of Date is not JSON"],
    [[new Point()], "at [0]: an instance of Point is not JSON"],
    [{ a: new Error("x") }, "at .a: an instance of Error is not JSON"],
    [{ a: Number.NaN }, "at .a: NaN is not a JSON number"],
    [{ a: Number.NEGATIVE_INFINITY }, "at .a: -Infinity is not a JSON number"],
    [{ "a b": 1n }, 'at ["a b"]: a bigint is not JSON'],
    [[1, undefined], "at [1]: undefined is not JSON; use null"],
    [new Array(1), "at [0]: undefined is not JSON; use null"],
    [{ a: () => 1 }, "at .a: a function is not JSON"],
    [{ a: "\ud800" }, "at .a: half a character (a lone surrogate) is no text"],
    [{ "\udfff": 1 }, 'at ["\\udfff"]: half a character (a lone surrogate) is no text'],
    [Symbol("x"), "a symbol is not JSON"],
    [undefined, "undefined is not JSON; use null"],
    [JSON.parse('{"a":{"__proto__":1}}'), "at .a.__proto__: a property may not be called __proto__"],
    [{ constructor: 1 }, "at .constructor: a property may not be called constructor"],
    [{ prototype: 1 }, "at .prototype: a property may not be called prototype"],
    [cycle, "it contains itself (a cycle), which JSON cannot"],
  ])("%o", (value, problem) => {
    expect(jsonProblem(value)).toBe(problem);
    expect(toJson(value)).toEqual({ ok: false, problem });
  });

  test("what is wrong beside an undefined property is still found", () => {
    expect(toJson({ a: undefined, b: [undefined] }).ok).toBe(false);
    expect(toJson([{ a: undefined }, Number.NaN]).ok).toBe(false);
  });

  test("a hostile depth of 100,000 levels is answered, not a stack overflow", () => {
    expect(jsonProblem(nested(100_000))).toMatch(/nested deeper/);
  });
});
