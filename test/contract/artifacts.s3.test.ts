import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { s3Artifacts } from "../../src/artifacts/index.ts";
import type { Artifacts } from "../../src/core/index.ts";
import { credentials, type FakeS3, region, type S3Fault, startFakeS3 } from "../support/fake-s3.ts";
import { artifactsContract, contentOf, keyOf } from "./artifacts.suite.ts";

let s3: FakeS3;
beforeAll(async () => {
  s3 = await startFakeS3();
});
afterAll(() => s3.stop());
beforeEach(() => {
  s3.fault = "none";
});

function open(patch: Partial<Parameters<typeof s3Artifacts>[0]> = {}): Artifacts {
  const { endpoint, bucket } = s3;
  return s3Artifacts({ endpoint, bucket, region, credentials, prefix: "reprise/", timeoutMs: 500, ...patch });
}

artifactsContract("S3", async () => ({
  artifacts: open(),
  change: async ({ namespace, tenant, hash }, to) => {
    const path = `/values/reprise/n.${namespace}/t.${tenant}/${hash}`;
    expect(s3.objects.has(path)).toBe(true);
    if (to === null) s3.objects.delete(path);
    else s3.objects.set(path, to);
  },
  close: async () => s3.objects.clear(),
}));

describe("a bucket", () => {
  const content = contentOf("x".repeat(1_000));
  const key = keyOf(content);

  test("that is asked by somebody it does not know says nothing about what is there", async () => {
    const stranger = open({ credentials: { ...credentials, secretAccessKey: "guessed" } });
    await expect(stranger.put(key, content)).rejects.toMatchObject({
      code: "ARTIFACTS_UNAVAILABLE",
      message: expect.stringContaining("SignatureDoesNotMatch"),
    });
    await expect(stranger.get(key)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    expect(s3.objects.size).toBe(0);
  });

  test("refuses content that is not what its key says", async () => {
    await expect(open().put(key, contentOf("other"))).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    expect(s3.objects.size).toBe(0);
  });

  test.each<[S3Fault, string]>([
    ["500", "answered 500"],
    ["503", "answered 503"],
    ["403", "AccessDenied"],
    ["no_bucket", "NoSuchBucket"],
    ["no_s3", "Not found"],
    ["reset", "no answer"],
    ["hang", "no answer"],
  ])("that meets a request with %s is away, once and at once: what was kept is not gone", async (fault, words) => {
    const artifacts = open();
    await artifacts.put(key, content);
    s3.fault = fault;
    s3.requests.length = 0;
    const away = { code: "ARTIFACTS_UNAVAILABLE", message: expect.stringContaining(words) };
    await expect(artifacts.get(key)).rejects.toMatchObject(away);
    await expect(artifacts.put(key, content)).rejects.toMatchObject(away);
    expect(s3.requests.map((line) => line.slice(0, 3))).toEqual(["GET", "PUT"]);
    s3.fault = "none";
    expect((await artifacts.get(key))?.length).toBe(content.length);
    s3.objects.clear();
  });

  test("that breaks off in the middle of a value is away as well", async () => {
    const artifacts = open();
    await artifacts.put(key, content);
    s3.fault = "half";
    await expect(artifacts.get(key)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    s3.objects.clear();
  });

  test("that cannot be reached at all is away, and no error tells the secret", async () => {
    const nowhere = open({ endpoint: "http://127.0.0.1:1" });
    const error: unknown = await nowhere.get(key).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ARTIFACTS_UNAVAILABLE", message: expect.stringContaining("127.0.0.1:1") });
    expect(JSON.stringify(error) + String(error)).not.toContain(credentials.secretAccessKey);
  });
});
