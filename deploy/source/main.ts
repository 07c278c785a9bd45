/** `npm run deploy:files`: writes the files of `deploy/` that are made. */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { files } from "./files.ts";

const root = resolve(import.meta.dirname, "../..");
for (const [path, content] of Object.entries(files)) writeFileSync(join(root, path), content);
