/**
 * Which keys there are, read back from their names: the counterpart of `keys.ts`. Owns what accounts for a key: that it belongs to the
 * namespace, to a shard, to a run, to a structure. `test/unit/store-kept-keys.test.ts` compares it with every name in this room.
 */
import { openListing } from "../core/index.ts";

/** What must be there for a key to have a reason; `known`: nothing but the namespace. */
export type KeyReason =
  | { readonly is: "known" }
  /** BullMQ's, in that lane. */
  | { readonly is: "lane"; readonly lane: number }
  /** A part of a run, which is there if `needs` is. */
  | { readonly is: "run_part"; readonly shard: number; readonly needs: string }
  /** A listing of open runs of a structure, which is a member of `needs`. */
  | { readonly is: "structure"; readonly shard: number; readonly needs: string; readonly structure: string }
  | { readonly is: "shard"; readonly shard: number }
  | { readonly is: "unknown" };

const ofNamespace = ["meta", "sagas", "serves", "paused"];
const ofShard = [
  ...["due", "clock", "queued", "fair", "fair-late", "owners", "suspects", "structures", "gone", "shelves", "barrier"],
  ...[
    "schedules",
    "heard",
    "supervised",
    "supervisor",
    "parked",
    "asking",
    "unreadable",
    "expiring",
    "audit",
    "batches",
    "hooks",
  ],
];
const named = [
  ...["due", "late", "held", "shelf", "heartbeat", "drain", "intent", "turn", "plan", "by", "run"],
  ...["box", "boxed", "telling", "tried", "teller"],
];
const runParts = ["rec", "ledger", "log", "inbox", "slots", "permit"];

/** Why a key of this namespace is there; `null`: it is not of this namespace. */
export function reasonOf(key: string, namespace: string): KeyReason | null {
  const match = /^\{reprise:([A-Za-z0-9_.-]+?)(?::(w?)(\d+))?\}:(.+)$/s.exec(key);
  if (match === null || match[1] !== namespace) return null;
  const [, , lane, number, name = ""] = match;
  if (number === undefined) return { is: ofNamespace.includes(name) ? "known" : "unknown" };
  if (lane === "w") return { is: "lane", lane: Number(number) };
  return inShard(key, name, Number(number));
}

function inShard(key: string, name: string, shard: number): KeyReason {
  const prefix = key.slice(0, key.length - name.length);
  const [kind = ""] = name.split(":");
  const rest = name.slice(kind.length + 1);
  if (rest === "") return ofShard.includes(name) ? { is: "shard", shard } : { is: "unknown" };
  if (runParts.includes(kind)) return { is: "run_part", shard, needs: `${prefix}run:${rest}` };
  const open = openListing("");
  if (name.startsWith(open)) {
    return { is: "structure", shard, needs: `${prefix}structures`, structure: name.slice(open.length) };
  }
  return named.includes(kind) ? { is: "shard", shard } : { is: "unknown" };
}
