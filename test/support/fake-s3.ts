/**
 * A bucket on the loopback that speaks enough of S3: PUT and GET of objects, signatures checked as AWS does, faults on
 * demand. Shares no code with the client.
 */
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const credentials = { accessKeyId: "AKIATEST", secretAccessKey: "a secret of the test" };
export const region = "eu-test-1";

/** What the next requests meet instead of an answer. */
export type S3Fault = "none" | "500" | "503" | "403" | "no_bucket" | "no_s3" | "reset" | "hang" | "half" | "changed";

export interface FakeS3 {
  readonly endpoint: string;
  readonly bucket: string;
  /** Objects by path: `/bucket/key`. */
  readonly objects: Map<string, Buffer>;
  /** `PUT /bucket/key` of every request that was signed well. */
  readonly requests: string[];
  fault: S3Fault;
  stop(): Promise<void>;
}

export async function startFakeS3(): Promise<FakeS3> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // Listening on a port, it has an address with one.
  const { port } = server.address() as AddressInfo;
  const fake: FakeS3 = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: "values",
    objects,
    requests,
    fault: "none",
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const path = request.url ?? "";
    const problem = objectionTo(request, body);
    if (problem !== null) return refuse(response, 403, problem);
    requests.push(`${request.method} ${path}`);
    if (meetsFault(fake.fault, response)) return;
    if (request.method === "PUT") {
      objects.set(path, body);
      response.writeHead(200).end();
      return;
    }
    const found = objects.get(path);
    if (found === undefined) return refuse(response, 404, "NoSuchKey");
    response.writeHead(200, { "content-length": found.length });
    if (fake.fault === "half") {
      response.write(found.subarray(0, found.length / 2), () => response.destroy());
      return;
    }
    response.end(fake.fault === "changed" ? Buffer.from(found.map((byte) => byte ^ 1)) : found);
  }
  return fake;
}

/** `true`: the request was met by it. */
function meetsFault(fault: S3Fault, response: ServerResponse): boolean {
  switch (fault) {
    case "500":
    case "503":
      refuse(response, Number(fault), "SlowDown");
      return true;
    case "403":
      refuse(response, 403, "AccessDenied");
      return true;
    case "no_bucket":
      refuse(response, 404, "NoSuchBucket");
      return true;
    case "no_s3":
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not found</h1>");
      return true;
    case "reset":
      response.destroy();
      return true;
    case "hang":
      return true;
    case "none":
    case "half":
    case "changed":
      return false;
  }
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/xml" }).end(`<Error><Code>${code}</Code></Error>`);
}

// ---- signatures (AWS Signature Version 4)

function objectionTo(request: IncomingMessage, body: Buffer): string | null {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=(\S+), Signature=(\w+)$/;
  const match = form.exec(request.headers.authorization ?? "");
  if (match === null) return "MissingSecurityHeader";
  const [, id, date = "", scope = "", names = "", signature] = match;
  if (id !== credentials.accessKeyId || scope !== region) return "InvalidAccessKeyId";
  const claimed = String(request.headers["x-amz-content-sha256"]);
  if (claimed !== "UNSIGNED-PAYLOAD" && claimed !== sha256(body)) return "XAmzContentSHA256Mismatch";
  return signature === signatureOf(request, { date, names, claimed }) ? null : "SignatureDoesNotMatch";
}

interface Signed {
  readonly date: string;
  readonly names: string;
  readonly claimed: string;
}

function signatureOf(request: IncomingMessage, { date, names, claimed }: Signed): string {
  const { pathname } = new URL(request.url ?? "", "http://any");
  const headers = names.split(";").map((name) => `${name}:${String(request.headers[name])}\n`);
  const canonical = [request.method, pathname, "", headers.join(""), names, claimed].join("\n");
  const toSign = [
    "AWS4-HMAC-SHA256",
    request.headers["x-amz-date"],
    `${date}/${region}/s3/aws4_request`,
    sha256(canonical),
  ].join("\n");
  const key = [date, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  );
  return createHmac("sha256", key).update(toSign).digest("hex");
}

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
