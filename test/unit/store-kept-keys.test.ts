/** Names of keys read back: whatever the store writes is known to who looks for orphans. */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { reasonOf } from "../../src/store/kept-keys.ts";
import { listingKey, shardKeys, sharedKeys } from "../../src/store/keys.ts";

const room = resolve(import.meta.dirname, "../../src/store");
const { prefix, ...ofShard } = shardKeys("shop", 2);

test("keys of the namespace and of a shard are known", () => {
  const { channel: _, ...kept } = ofShard; // a channel is no key
  for (const key of [...Object.values(kept), ...Object.values(sharedKeys("shop"))]) {
    expect([key, reasonOf(key, "shop")?.is]).toEqual([key, expect.stringMatching(/^(known|shard)$/)]);
  }
});

test("every name that stands after a shard's prefix in this room is known", () => {
  const files = readdirSync(room, { recursive: true, encoding: "utf8" }).filter((file) => /\.(ts|lua)$/.test(file));
  const texts = files.map((file) => readFileSync(resolve(room, file), "utf8"));
  const names = texts.flatMap((text) => [
    ...[...text.matchAll(/prefix\}([a-z-]+:?)/g)].map((match) => match[1] as string),
    ...[...text.matchAll(/prefix \.\. '([a-z-]+:)'/g)].map((match) => match[1] as string),
  ]);
  expect(new Set(names).size).toBeGreaterThan(20);
  for (const name of names.filter((each) => each !== "moved")) {
    const key = `${prefix}${name}${name.endsWith(":") ? "default:x" : ""}`;
    expect([key, reasonOf(key, "shop")?.is]).toEqual([key, expect.stringMatching(/^(shard|run_part)$/)]);
  }
});

test("parts of a run need it, listings need their structure, queues a lane", () => {
  expect(reasonOf(`${prefix}ledger:default:a.b`, "shop")).toEqual({
    ...{ is: "run_part", shard: 2, needs: `${prefix}run:default:a.b` },
  });
  expect(reasonOf(`${prefix}open:order@2#h`, "shop")).toEqual({
    ...{ is: "structure", shard: 2, needs: `${prefix}structures`, structure: "order@2#h" },
  });
  expect(reasonOf("{reprise:shop:w1}:pool-default:wait", "shop")).toEqual({ is: "lane", lane: 1 });
  expect(reasonOf(prefix + listingKey("default", "all"), "shop")).toEqual({ is: "shard", shard: 2 });
});

test("what belongs to others is nobody's business here, what nobody writes is unknown", () => {
  expect(reasonOf("{reprise:shop2}:meta", "shop")).toBeNull();
  expect(reasonOf("{reprise:shop2:0}:due", "shop")).toBeNull();
  expect(reasonOf("cache:shop", "shop")).toBeNull();
  expect(reasonOf("{reprise:shop}:metal", "shop")).toEqual({ is: "unknown" });
  expect(reasonOf(`${prefix}junk`, "shop")).toEqual({ is: "unknown" });
  expect(reasonOf(`${prefix}junk:1`, "shop")).toEqual({ is: "unknown" });
});
