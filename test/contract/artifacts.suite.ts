/** The port `Artifacts` as a list of promises, kept by every adapter. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ArtifactKey, type Artifacts, contentHashOf } from "../../src/core/index.ts";

/** A place for artifacts that a test can disturb. */
export interface ArtifactBench {
  readonly artifacts: Artifacts;
  /** What lies there of one artifact: changed behind the adapter's back; `null`: removed. */
  change(key: ArtifactKey, to: Buffer | null): Promise<void>;
  close(): Promise<void>;
}

export function contentOf(text: string): Buffer {
  return Buffer.from(JSON.stringify({ text }));
}

export function keyOf(content: Uint8Array, patch: Partial<ArtifactKey> = {}): ArtifactKey {
  return { namespace: "ns", tenant: "default", hash: contentHashOf(content), ...patch };
}

export function artifactsContract(adapter: string, open: () => Promise<ArtifactBench>): void {
  describe(adapter, () => {
    let bench: ArtifactBench;
    beforeEach(async () => {
      bench = await open();
    });
    afterEach(() => bench.close());
    const content = contentOf("é".repeat(100_000));
    const get = async (key: ArtifactKey) => {
      const found = await bench.artifacts.get(key);
      return found === null ? null : Buffer.from(found);
    };

    test("what was put comes back, to the byte", async () => {
      await bench.artifacts.put(keyOf(content), content);
      expect((await get(keyOf(content)))?.equals(content)).toBe(true);
    });

    test("what was never put, or is gone, is known not to be there", async () => {
      await bench.artifacts.put(keyOf(content), content);
      expect(await get(keyOf(contentOf("other")))).toBeNull();
      await bench.change(keyOf(content), null);
      expect(await get(keyOf(content))).toBeNull();
    });

    test("putting again is harmless, and mends what was damaged", async () => {
      await bench.artifacts.put(keyOf(content), content);
      await bench.change(keyOf(content), Buffer.from("half"));
      expect((await get(keyOf(content)))?.toString()).toBe("half");
      await bench.artifacts.put(keyOf(content), content);
      await bench.artifacts.put(keyOf(content), content);
      expect((await get(keyOf(content)))?.equals(content)).toBe(true);
    });

    test("many at once, the same one among them, are all there", async () => {
      const contents = Array.from({ length: 20 }, (_, n) => contentOf(`value ${n % 10}`));
      await Promise.all(contents.map((each) => bench.artifacts.put(keyOf(each), each)));
      const found = await Promise.all(contents.map((each) => get(keyOf(each))));
      expect(found.map(String)).toEqual(contents.map(String));
    });

    test.each([
      [{ tenant: "other" }],
      [{ namespace: "other" }],
      [{ tenant: ".." }],
      [{ namespace: ".." }],
      [{ namespace: ".", tenant: "." }],
    ])("tenants and namespaces share nothing, whatever they are called: %j", async (patch) => {
      await bench.artifacts.put(keyOf(content), content);
      expect(await get(keyOf(content, patch))).toBeNull();
      await bench.artifacts.put(keyOf(content, patch), content);
      await bench.change(keyOf(content), null);
      expect((await get(keyOf(content, patch)))?.equals(content)).toBe(true);
    });
  });
}
