/**
 * `npm run golden`: writes the newest part of the golden corpus anew. Before a release the present format may still change; after
 * it, raise the format and begin a new folder: what was released is kept for ever.
 */
import { rmSync, writeFileSync } from "node:fs";
import { corpusOf, folderOf, keptFormats, makeCorpus, partOf } from "../support/golden.ts";
import { startRedisServer } from "../support/redis-server.ts";

const format = keptFormats().at(-1) ?? 1;
const artifacts = `${folderOf(format)}artifacts`;
const redis = await startRedisServer();
try {
  rmSync(artifacts, { recursive: true, force: true });
  const corpus = await makeCorpus(redis.url, artifacts, await partOf(format));
  writeFileSync(`${folderOf(format)}store.json`, `${JSON.stringify(corpus, null, 1)}\n`);
  console.log(`format ${format}: ${Object.keys(corpusOf(format)).length} keys`);
} finally {
  await redis.stop();
}
