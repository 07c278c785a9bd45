import { describe, expect, test } from "vitest";
import { z } from "zod";
import { decodeInput, decodeOutput, encode, encodeInput, encodeOutput, step } from "../../src/saga/index.ts";
import { payloadProblem, schemaProblems } from "../../src/saga/schema.ts";

const instant = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});
const both = z.object({ at: instant, tags: z.array(z.string()), note: z.string().optional() });
const { spec } = step("s", {
  input: both,
  output: both,
  effect: "none",
  action: ({ input }) => input,
});
const bare = step("bare", { input: z.object({}), effect: "none", action: () => 1 }).spec;
const text = "2026-01-01T00:00:00.000Z";

describe("between JSON and user code", () => {
  test("decoding and encoding are each other's inverse", () => {
    const json = { at: text, tags: ["a"] };
    const decoded = decodeInput(spec, json);
    expect(decoded).toEqual({ ok: true, value: { at: new Date(text), tags: ["a"] } });
    if (decoded.ok) expect(encodeInput(spec, decoded.value)).toEqual({ ok: true, value: json });
    expect(decodeOutput(spec, json)).toEqual(decoded);
    if (decoded.ok) expect(encodeOutput(spec, decoded.value)).toEqual({ ok: true, value: json });
  });

  test("what does not fit is told with its path, every issue of it", () => {
    const decoded = decodeInput(spec, { at: "x", tags: [1] });
    expect(decoded).toMatchObject({ ok: false, problem: expect.stringMatching(/^at: .*; tags\[0\]: /) });
    expect(encodeOutput(spec, { at: text, tags: [] })).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^at: /),
    });
    expect(encodeOutput(spec, 7)).toMatchObject({ ok: false });
  });

  test("an undefined property of an output is left out", () => {
    const encoded = encodeOutput(spec, { at: new Date(text), tags: [], note: undefined });
    expect(encoded.ok && Object.keys(encoded.value as object)).toEqual(["at", "tags"]);
  });

  test("a step without output schema yields null, whatever its action gave", () => {
    expect(encodeOutput(bare, new Map())).toEqual({ ok: true, value: null });
    expect(decodeOutput(bare, { any: 1 })).toEqual({ ok: true, value: null });
  });

  test("what an open schema lets through is still checked for JSON", () => {
    expect(encode(z.object({ any: z.unknown() }), { any: new Map() })).toEqual({
      ok: false,
      problem: "at .any: an instance of Map is not JSON",
    });
    expect(encode(z.looseObject({}), { extra: [Number.NaN] })).toMatchObject({ ok: false });
  });

  test("a refinement that throws, or is asynchronous behind a wrapper, is a problem and no exception", () => {
    const throwing = z.string().refine(() => {
      throw new Error("boom");
    });
    expect(encode(throwing, "x")).toEqual({ ok: false, problem: "boom" });
    const hidden = z.string().superRefine(async () => {});
    expect(encode(hidden, "x")).toMatchObject({ ok: false, problem: expect.stringMatching(/Promise|async/i) });
  });

  test("defaults, catches and recursive codecs encode backwards, not forwards", () => {
    const tree: z.ZodType = z.lazy(() => z.object({ at: instant, children: z.array(tree) }));
    expect(encode(tree, { at: new Date(text), children: [{ at: new Date(text), children: [] }] })).toEqual({
      ok: true,
      value: { at: text, children: [{ at: text, children: [] }] },
    });
    expect(encode(z.object({ n: z.int().default(3) }), { n: 4 })).toEqual({ ok: true, value: { n: 4 } });
  });
});

describe("schemas that cannot stand between JSON and user code are refused at definition", () => {
  test.each([
    ["a Date", z.object({ a: z.date() })],
    ["a Map, deep inside", z.array(z.object({ a: z.union([z.string(), z.map(z.string(), z.string())]) }))],
    ["a bigint", z.bigint()],
    ["a custom type", z.instanceof(Date)],
    ["undefined", z.object({ a: z.undefined() })],
  ])("%s on the encoded side", (_what, schema) => {
    expect(schemaProblems(schema, "decoded")).toEqual([expect.stringMatching(/its encoded side is not JSON/)]);
  });

  test.each([
    ["refinement", z.object({ a: z.string().refine(async () => true) })],
    ["transform", z.object({ a: z.string().transform(async (value) => value) })],
    ["codec", z.codec(z.string(), z.string(), { decode: async (value) => value, encode: (value) => value })],
    ["promise", z.object({ a: z.promise(z.string()) })],
  ])("an asynchronous %s", (_what, schema) => {
    expect(schemaProblems(schema, "decoded")).toContainEqual(expect.stringMatching(/asynchronous/));
  });

  test("a one-way transform in an output, not in an input", () => {
    const schema = z.object({ a: z.string().transform((value) => value.length) });
    expect(schemaProblems(schema, "both")).toEqual([expect.stringMatching(/one-way part \(transform\).*z\.codec/)]);
    expect(schemaProblems(schema, "decoded")).toEqual([]);
  });

  test.each([
    ["a codec", both],
    ["any JSON", z.json()],
    ["what is only known at run time", z.object({ a: z.unknown(), b: z.any() })],
    ["a recursive schema", z.lazy(() => both)],
    ["unions, tuples, records, enums", z.union([z.tuple([z.literal(1)]), z.record(z.string(), z.enum(["a"]))])],
  ])("not so %s", (_what, schema) => {
    expect(schemaProblems(schema, "both")).toEqual([]);
  });

  test("an event's payload is an object without a type of its own", () => {
    expect(payloadProblem(both)).toBeNull();
    expect(payloadProblem(z.union([both, z.looseObject({ a: z.string() })]))).toBeNull();
    for (const other of [z.string(), z.union([both, z.null()]), z.array(both)]) {
      expect(payloadProblem(other)).toMatch(/is not an object/);
    }
    expect(payloadProblem(z.object({ type: z.string() }))).toMatch(/"type"/);
  });
});
