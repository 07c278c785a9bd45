/** From the words of an environment to where artifacts are kept. What cannot be used is refused at once. */
import type { Artifacts } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { fileArtifacts } from "./files.ts";
import { s3Artifacts } from "./s3.ts";

const defaultRegion = "us-east-1";

/**
 * `file:///dir`, or `s3://bucket/prefix?endpoint=https://...&region=...` with the credentials in AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and the region in AWS_REGION unless given.
 *
 * @throws RepriseError CONFIG_INVALID.
 */
export function artifactsAt(place: string, env: Readonly<Record<string, string | undefined>>): Artifacts {
  const url = URL.canParse(place) ? new URL(place) : null;
  if (url?.protocol === "file:" && url.host === "") return fileArtifacts({ dir: decodeURIComponent(url.pathname) });
  if (url?.protocol === "s3:" && url.host !== "") return s3At(url, env);
  throw invalid(`REPRISE_ARTIFACTS ${JSON.stringify(place)} is neither file:///dir nor s3://bucket`);
}

function s3At(url: URL, env: Readonly<Record<string, string | undefined>>): Artifacts {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw invalid("an s3:// place needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  const endpoint = url.searchParams.get("endpoint");
  const prefix = url.pathname.replace(/^\/+|\/+$/g, "");
  return s3Artifacts({
    bucket: url.host,
    region: url.searchParams.get("region") ?? env["AWS_REGION"] ?? defaultRegion,
    credentials: { accessKeyId, secretAccessKey, ...(token ? { sessionToken: token } : {}) },
    ...(endpoint === null ? {} : { endpoint }),
    ...(prefix === "" ? {} : { prefix: `${prefix}/` }),
  });
}

function invalid(problem: string): RepriseError {
  return new RepriseError("CONFIG_INVALID", `the configuration cannot be used: ${problem}`, {
    details: { problems: [problem] },
  });
}
