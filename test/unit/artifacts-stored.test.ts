/** Whatever a value is, its stored form gives it back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Parcel, referencesIn, storedForm, valueOfForm, wrapped } from "../../src/artifacts/stored.ts";
import type { Json } from "../../src/saga/index.ts";

/** Values, and among them what looks like every stored form. */
const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json>(null, 7, "text", "a longer text than fits", "\u0000\u0000\u0000\u0000"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("$artifact", "bytes", "parts", "value", "a", "__proto__"), tie("value"), {
      maxKeys: 4,
    }),
  ),
})).value;

function through(value: Json, isDivided: boolean, thresholdBytes = 20) {
  const parcels = new Map<string, Parcel>();
  const form = JSON.parse(
    JSON.stringify(storedForm(value, { thresholdBytes, isKept: () => false, parcels }, isDivided)),
  ) as Json;
  const back = valueOfForm(form, ({ $artifact }) => JSON.parse(parcels.get($artifact)?.text ?? "") as Json);
  return { form, parcels, back };
}

describe("a value", () => {
  test.each([true, false])("comes back as it was, to the order of its keys (divided: %s)", (isDivided) => {
    fc.assert(
      fc.property(values, (value) => {
        const { form, parcels, back } = through(value, isDivided);
        expect(JSON.stringify(back)).toBe(JSON.stringify(value));
        expect(new Set(referencesIn(form).map(({ $artifact }) => $artifact))).toEqual(new Set(parcels.keys()));
      }),
    );
  });

  test("where nothing is kept elsewhere refers to nothing, whatever it looks like", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(referencesIn(wrapped(value))).toEqual([]);
        expect(valueOfForm(wrapped(value), () => "never asked")).toEqual(value);
      }),
    );
  });

  test("is divided only if that makes it small: else it is kept whole, and its parts are not", () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`key${n}`, "short"]));
    const { form, parcels } = through({ ...many, large: "x".repeat(500) }, true, 100);
    expect(form).toMatchObject({ bytes: expect.any(Number) });
    expect(parcels.size).toBe(1);
  });
});
