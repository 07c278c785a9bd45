/** What JSON is, and whether a schema's encoded side is that, as far as a compiler can see; `schema.ts` judges it whole at definition. */
import type { ZodType, z } from "zod";

/** A value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What JSON cannot hold and people try to put there. */
type NotJson =
  | bigint
  | symbol
  | Date
  | ReadonlyMap<never, unknown>
  | ReadonlySet<never>
  | ((...args: never) => unknown);

type IsAny<T> = 0 extends 1 & T ? true : false;

/** `true` among the answers: somewhere, at most five levels deep, it holds what JSON cannot. */
type HoldsNotJson<T, Depth extends readonly 0[] = []> =
  IsAny<T> extends true
    ? false
    : Depth["length"] extends 5
      ? false
      : T extends NotJson
        ? true
        : T extends readonly (infer Item)[]
          ? HoldsNotJson<Item, [...Depth, 0]>
          : T extends object
            ? { [Key in keyof T]-?: HoldsNotJson<T[Key], [...Depth, 0]> }[keyof T]
            : false;

/** Said by the compiler about a schema whose encoded side is not JSON. */
export interface EncodedSideIsNotJson {
  readonly "the encoded side of this schema is not JSON; put a z.codec() in between": never;
}

/** `unknown` where the schema can be stored, else the complaint. Intersect a schema's type with it. */
export type JsonSide<Schema> = Schema extends ZodType
  ? true extends HoldsNotJson<z.input<Schema>>
    ? EncodedSideIsNotJson
    : unknown
  : unknown;
