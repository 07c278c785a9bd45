import { describe, expect, onTestFinished, test, vi } from "vitest";
import { artifactsAt } from "../../src/artifacts/index.ts";

const env = { AWS_ACCESS_KEY_ID: "AKIATEST", AWS_SECRET_ACCESS_KEY: "secret" };
const key = { namespace: "ns", tenant: "default", hash: "ab12" };

/** What a place asks of the network for an artifact. */
async function askedBy(place: string, given: Readonly<Record<string, string>> = env): Promise<Request> {
  const asked: Request[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(request);
    return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  await artifactsAt(place, given).get(key);
  const [first] = asked;
  if (first === undefined) throw new Error("nothing was asked");
  return first;
}

describe("where artifacts are kept, in the words of an environment", () => {
  test("is a bucket of AWS", async () => {
    const { url, headers } = await askedBy("s3://values/of/runs/", { ...env, AWS_REGION: "eu-west-1" });
    expect(url).toBe("https://s3.eu-west-1.amazonaws.com/values/of/runs/n.ns/t.default/ab12");
    expect(headers.get("authorization")).toContain("Credential=AKIATEST/");
    expect(headers.get("authorization")).toContain("/eu-west-1/s3/aws4_request");
    expect(headers.has("x-amz-security-token")).toBe(false);
  });

  test("is a bucket of another, with a token that lasts for a while", async () => {
    const place = "s3://values?endpoint=http://127.0.0.1:9000/&region=here";
    const { url, headers } = await askedBy(place, { ...env, AWS_SESSION_TOKEN: "for an hour" });
    expect(url).toBe("http://127.0.0.1:9000/values/n.ns/t.default/ab12");
    expect(headers.get("authorization")).toContain("/here/s3/");
    expect(headers.get("x-amz-security-token")).toBe("for an hour");
  });

  test("is a directory, which is made when it is needed", async () => {
    await expect(artifactsAt("file:///nowhere/there%20is/nothing", {}).get(key)).rejects.toMatchObject({
      message: expect.stringContaining("/nowhere/there is/nothing holds no artifacts"),
    });
  });

  test.each([
    ["ftp://values", env],
    ["values", env],
    ["file://host/dir", env],
    ["s3://", env],
    ["s3://values", {}],
    ["s3://values", { AWS_ACCESS_KEY_ID: "AKIATEST" }],
  ])("%s is refused at once", (place, given) => {
    expect(() => artifactsAt(place, given)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });
});
