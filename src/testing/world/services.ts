/**
 * Owns: what the services of the fake world are like towards a repeat, a question and an undoing.
 * The words for a repeat are those a step declares (`effect`); see `docs/guarantees.md`.
 */
import { type JsonObject, limits, readInteger, readOneOf, WorldRefusal } from "./input.ts";
import type { Direction } from "./journal.ts";

/**
 * What a service makes of a second request with the same operation id.
 * - `none`: nothing ever changes; it only counts arrivals
 * - `idempotent`: repeating leaves the same result; the arguments say what is repeated, not a key
 * - `keyed`: it deduplicates by operation id, and refuses the same id with other arguments (422)
 * - `once`: every request is one more effect
 */
export type WorldEffect = "none" | "idempotent" | "keyed" | "once";
const worldEffects: readonly WorldEffect[] = ["none", "idempotent", "keyed", "once"];

export interface ServiceProfile {
  readonly effect: WorldEffect;
  /** Whether it can be asked what became of an operation. `false` when left out. */
  readonly query?: boolean;
  readonly direction?: Direction;
  /** How long a key is remembered; for ever when left out. */
  readonly keyTtlMs?: number;
}

export interface ActionProfile extends ServiceProfile {
  readonly query: boolean;
  readonly direction: Direction;
  /** The field of the answer that holds the id of the effect. */
  readonly refField: string;
  readonly refPrefix: string;
  readonly requires: Readonly<Record<string, "text" | "amount">>;
  /** What an `idempotent` action recognises a repeat by. The operation id, when left out. */
  readonly naturalKey?: (args: JsonObject) => string;
  /** The field of the arguments that names the effect to undo, and the action that made it. */
  readonly undoes?: { readonly field: string; readonly action: string };
}

type Described = Omit<ActionProfile, "query" | "requires"> & {
  readonly query?: boolean;
  readonly requires?: ActionProfile["requires"];
};

function action(described: Described): ActionProfile {
  return { query: true, requires: {}, ...described };
}

function booking(refPrefix: string): Readonly<Record<string, ActionProfile>> {
  return {
    book: action({
      effect: "keyed",
      direction: "do",
      refField: "bookingId",
      refPrefix,
      requires: { tripId: "text" },
    }),
    cancel: action({
      effect: "keyed",
      direction: "undo",
      refField: "cancellationId",
      refPrefix: `${refPrefix}x`,
      requires: { bookingId: "text" },
      undoes: { field: "bookingId", action: "book" },
    }),
  };
}

/** The services that are always there. */
export const catalogue: Readonly<Record<string, Readonly<Record<string, ActionProfile>>>> = {
  stock: {
    reserve: action({
      effect: "idempotent",
      direction: "do",
      refField: "reservationId",
      refPrefix: "res",
      requires: { orderId: "text", sku: "text" },
      naturalKey: (args) => JSON.stringify([args["orderId"], args["sku"]]),
    }),
    release: action({
      effect: "idempotent",
      direction: "undo",
      refField: "releaseId",
      refPrefix: "rel",
      requires: { reservationId: "text" },
      naturalKey: (args) => String(args["reservationId"]),
      undoes: { field: "reservationId", action: "reserve" },
    }),
  },
  payments: {
    charge: action({
      effect: "keyed",
      direction: "do",
      refField: "chargeId",
      refPrefix: "ch",
      requires: { orderId: "text", cents: "amount" },
    }),
    refund: action({
      effect: "keyed",
      direction: "undo",
      refField: "refundId",
      refPrefix: "re",
      requires: { chargeId: "text" },
      undoes: { field: "chargeId", action: "charge" },
    }),
  },
  shipping: {
    ship: action({
      effect: "keyed",
      direction: "do",
      refField: "shipmentId",
      refPrefix: "shp",
      requires: { reservationId: "text" },
    }),
    recall: action({
      effect: "keyed",
      direction: "undo",
      refField: "recallId",
      refPrefix: "rcl",
      requires: { shipmentId: "text" },
      undoes: { field: "shipmentId", action: "ship" },
    }),
  },
  mail: {
    send: action({
      effect: "once",
      query: false,
      direction: "do",
      refField: "messageId",
      refPrefix: "msg",
      requires: { to: "text", subject: "text" },
    }),
  },
  flights: booking("fl"),
  hotels: booking("ht"),
};

/** Which profile an action has: the catalogue's with what the world was told of the service, or the one given. */
export function profileOf(
  named: { readonly service: string; readonly action: string },
  told: Partial<ServiceProfile> | undefined,
  asked: ServiceProfile | undefined,
): ActionProfile {
  if (Object.hasOwn(catalogue, named.service)) return catalogued(named, told, asked);
  const profile = { ...told, ...asked };
  if (profile.effect === undefined) {
    const known = Object.keys(catalogue).join(", ");
    throw new WorldRefusal(
      404,
      "unknown_service",
      `there is no service "${named.service}": use ${known}, or say its effect`,
    );
  }
  const generic = { query: false, direction: "do", refField: "ref", refPrefix: named.service, requires: {} } as const;
  return { ...generic, ...profile, effect: profile.effect };
}

function catalogued(
  named: { readonly service: string; readonly action: string },
  told: Partial<ServiceProfile> | undefined,
  asked: ServiceProfile | undefined,
): ActionProfile {
  if (asked !== undefined) {
    throw new WorldRefusal(400, "bad_request", `"${named.service}" has a profile of its own`);
  }
  const actions = catalogue[named.service] ?? {};
  const found = Object.hasOwn(actions, named.action) ? actions[named.action] : undefined;
  if (found === undefined) {
    const known = Object.keys(actions).join(", ");
    throw new WorldRefusal(404, "unknown_action", `"${named.service}" has no "${named.action}", only ${known}`);
  }
  return { ...found, ...told };
}

/** Refuses arguments in which a field is missing that the action cannot do without. */
export function assertArgs(profile: ActionProfile, args: JsonObject): void {
  for (const [field, kind] of Object.entries(profile.requires)) {
    const value = args[field];
    const fits = kind === "text" ? typeof value === "string" && value !== "" : Number.isSafeInteger(value);
    if (!fits) {
      const wanted = kind === "text" ? "a text" : "a whole number";
      throw new WorldRefusal(400, "bad_arguments", `"${field}" must be ${wanted}`);
    }
  }
}

/** Reads a profile that came with a request. */
export function readProfile(value: JsonObject): ServiceProfile {
  const { query, direction, keyTtlMs } = value;
  if (query !== undefined && typeof query !== "boolean") {
    throw new WorldRefusal(400, "bad_request", "the profile's query must be true or false");
  }
  return {
    effect: readOneOf(value["effect"], "the profile's effect", worldEffects),
    ...(query === undefined ? {} : { query }),
    ...(direction === undefined
      ? {}
      : { direction: readOneOf(direction, "the profile's direction", ["do", "undo"] as const) }),
    ...(keyTtlMs === undefined
      ? {}
      : { keyTtlMs: readInteger(keyTtlMs, "the profile's keyTtlMs", { min: 0, max: limits.maxWaitMs }) }),
  };
}
