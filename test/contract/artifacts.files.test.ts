import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fileArtifacts } from "../../src/artifacts/index.ts";
import type { ArtifactKey } from "../../src/core/index.ts";
import { artifactsContract, contentOf, keyOf } from "./artifacts.suite.ts";

/** Where a file is promised to lie (docs/artifacts.md). */
function fileOf(dir: string, { namespace, tenant, hash }: ArtifactKey): string {
  return join(dir, `n.${namespace}`, `t.${tenant}`, hash);
}

artifactsContract("files", async () => {
  const dir = await mkdtemp(join(tmpdir(), "reprise-artifacts-"));
  return {
    artifacts: fileArtifacts({ dir: join(dir, "made", "when", "needed") }),
    change: (key, to) => {
      const file = fileOf(join(dir, "made", "when", "needed"), key);
      return to === null ? rm(file) : writeFile(file, to);
    },
    close: () => rm(dir, { recursive: true, force: true }),
  };
});

async function opened() {
  const dir = await mkdtemp(join(tmpdir(), "reprise-artifacts-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const content = contentOf("x".repeat(1_000));
  const artifacts = fileArtifacts({ dir });
  await artifacts.put(keyOf(content), content);
  return { dir, content, artifacts };
}

test("nothing of a write is left beside the file, and a whole one is there before and after every other", async () => {
  const { dir, content, artifacts } = await opened();
  const reads = Array.from({ length: 50 }, async () => {
    await artifacts.put(keyOf(content), content);
    return await artifacts.get(keyOf(content));
  });
  for (const found of await Promise.all(reads)) expect(found?.length).toBe(content.length);
  expect(await readdir(join(dir, "n.ns", "t.default"))).toEqual([keyOf(content).hash]);
});

test("a directory that holds nothing at all, as where a volume is not mounted, does not say that a value is gone", async () => {
  const { dir, content, artifacts } = await opened();
  await rename(dir, `${dir}-away`);
  await expect(artifacts.get(keyOf(content))).rejects.toMatchObject({
    code: "ARTIFACTS_UNAVAILABLE",
    message: expect.stringContaining("is its volume mounted?"),
  });
  await rename(`${dir}-away`, dir);
  expect((await artifacts.get(keyOf(content)))?.length).toBe(content.length);
});

test("what cannot be read or written is no word on what is there", async () => {
  const { dir, content } = await opened();
  await writeFile(join(dir, "file"), "no directory");
  const blocked = fileArtifacts({ dir: join(dir, "file") });
  await expect(blocked.put(keyOf(content), content)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
  await expect(blocked.get(keyOf(content))).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
});
