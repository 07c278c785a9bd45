import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeCursor, encodeCursor } from "../../src/store/cursor.ts";
import { assertPlace, memberOf, runOf, shardKeys, shardOfMember } from "../../src/store/keys.ts";
import { graceMs } from "../../src/store/limits.ts";

const id = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/);

/** CRC16 (XMODEM) of the hash tag, modulo 16,384: the slot of a key in a cluster. */
function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(/\{([^}]+)\}/.exec(key)?.[1] ?? key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc % 16_384;
}

describe("where a run is", () => {
  test("in a cluster each of three masters has three of 16 shards at least, whatever the namespace is called", () => {
    expect(slotOf("123456789")).toBe(0x31c3); // the check value of the cluster specification
    fc.assert(
      fc.property(id, (namespace) => {
        const shares = [0, 0, 0];
        for (let shard = 0; shard < 16; shard += 1) {
          const master = Math.floor((slotOf(shardKeys(namespace, shard).due) * 3) / 16_384);
          shares[master] = (shares[master] ?? 0) + 1;
        }
        expect(Math.min(...shares)).toBeGreaterThanOrEqual(3);
      }),
    );
  });

  test("a shard is for ever: these runs have always been there", () => {
    const runs = ["default:order-1", "default:order-2", "acme:o-1", "default:__proto__", "t:x"];
    expect(runs.map((run) => shardOfMember(run, 16))).toEqual([3, 0, 10, 15, 11]);
    expect(runs.map((run) => shardOfMember(run, 4))).toEqual([3, 0, 2, 3, 3]);
    expect(runs.map((run) => shardOfMember(run, 1))).toEqual([0, 0, 0, 0, 0]);
  });

  test("shards fill evenly with numbered runs", () => {
    const counts = new Array<number>(16).fill(0);
    for (let n = 0; n < 16_000; n += 1)
      counts[shardOfMember(`default:order-${n}`, 16)] = (counts[shardOfMember(`default:order-${n}`, 16)] ?? 0) + 1;
    expect(Math.min(...counts)).toBeGreaterThan(900);
    expect(Math.max(...counts)).toBeLessThan(1_100);
  });

  test("a run and its member name lead to each other", () => {
    fc.assert(
      fc.property(id, id, (tenant, own) => {
        expect(runOf(memberOf({ tenant, id: own }))).toEqual({ tenant, id: own });
      }),
    );
  });

  test("every name of a shard begins with its hash tag, and the tag cannot be moved by the namespace", () => {
    const keys = Object.values(shardKeys("shop", 3));
    expect(keys.every((key) => key.startsWith("{reprise:shop:3}:"))).toBe(true);
    for (const namespace of ["", "a}b", "{a", "a b", "x".repeat(65), "a:b"]) {
      expect(() => assertPlace(namespace, 1, 1)).toThrow(/namespace/);
    }
    for (const shards of [0, -1, 1.5, 2_000, Number.NaN])
      expect(() => assertPlace("shop", shards, 1)).toThrow(/shards/);
    expect(() => assertPlace("shop", 1, 0)).toThrow(/lanes/);
  });
});

test("a cursor is a place, and text that no list made is refused", () => {
  const place = { createdAt: 1_767_225_600_000, id: "o-1" };
  expect(decodeCursor(encodeCursor(place))).toEqual(place);
  for (const cursor of [
    "",
    "x",
    "MQ",
    encodeCursor({ createdAt: -1, id: "a" }),
    encodeCursor({ createdAt: 1, id: "a:b" }),
  ]) {
    expect(() => decodeCursor(cursor)).toThrow(/first page/);
  }
});

test("a hand-out's grace doubles from 5 s to a minute and stays there", () => {
  expect([1, 2, 3, 4, 5, 6, 100].map(graceMs)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
});
