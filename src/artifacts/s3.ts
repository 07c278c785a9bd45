/**
 * Artifacts in a bucket that speaks S3 (AWS, MinIO, R2, Ceph), by signed requests. Invariants: S1 only "there is no such
 * key" is an answer that nothing is there; what else goes wrong is nobody's word. S2 an upload carries the hash of its
 * content, so that the other side refuses a damaged one. S3 a request is made once: whoever asked asks again.
 */
import { AwsClient } from "aws4fetch";
import type { ArtifactKey, Artifacts } from "../core/index.ts";
import { pathOf, unavailable } from "./keys.ts";

const defaultTimeoutMs = 5_000;
/** So much of an answer is looked at, and shown. */
const shownChars = 300;

export interface S3ArtifactsOptions {
  readonly bucket: string;
  /** As the bucket's side wants it signed: `eu-central-1`; `us-east-1` for most others. */
  readonly region: string;
  /** `https://...` without the bucket; that of AWS in the region unless given. */
  readonly endpoint?: string;
  /** Put before every key: `reprise/`. */
  readonly prefix?: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  /** A request without an answer fails after this; 5,000 unless given. */
  readonly timeoutMs?: number;
}

/**
 * Keeps artifacts in an S3 bucket. It needs GetObject and PutObject, and ListBucket: without it S3 does not say that a key
 * is not there.
 *
 * @throws RepriseError ARTIFACTS_UNAVAILABLE, from `put` and `get`, when the bucket cannot be used.
 */
export function s3Artifacts(options: S3ArtifactsOptions): Artifacts {
  const { bucket, region, credentials, prefix = "", timeoutMs = defaultTimeoutMs } = options;
  const endpoint = (options.endpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, "");
  const client = new AwsClient({ ...credentials, service: "s3", region, retries: 0 });

  async function ask(key: ArtifactKey, what: string, init: RequestInit): Promise<Answer> {
    const url = `${endpoint}/${bucket}/${prefix}${pathOf(key)}`;
    try {
      const response = await client.fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
      return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
    } catch (error) {
      throw unavailable(what, key, `no answer from ${endpoint}: ${whyOf(error)}`, error);
    }
  }

  return {
    put: async (key, content) => {
      const what = "could not be put";
      const headers = { "x-amz-content-sha256": key.hash, "content-type": "application/json" };
      // Nobody writes to the content meanwhile; `fetch` only asks that nobody else could.
      const body = content as Uint8Array<ArrayBuffer>;
      const answer = await ask(key, what, { method: "PUT", headers, body });
      if (answer.status !== 200) throw unavailable(what, key, said(answer, endpoint));
    },
    get: async (key) => {
      const what = "could not be fetched";
      const answer = await ask(key, what, { method: "GET" });
      if (answer.status === 200) return answer.body;
      if (answer.status === 404 && textOf(answer).includes("NoSuchKey")) return null;
      throw unavailable(what, key, said(answer, endpoint));
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

function textOf({ body }: Answer): string {
  return Buffer.from(body).toString().slice(0, shownChars);
}

function said(answer: Answer, endpoint: string): string {
  return `${endpoint} answered ${answer.status} ${textOf(answer)}`.trimEnd();
}

/** `fetch` says "fetch failed" and keeps the reason as the cause. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
