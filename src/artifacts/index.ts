export { type FileArtifactsOptions, fileArtifacts } from "./files.ts";
export { artifactsAt } from "./place.ts";
export { type S3ArtifactsOptions, s3Artifacts } from "./s3.ts";
export { withArtifacts } from "./with-artifacts.ts";
