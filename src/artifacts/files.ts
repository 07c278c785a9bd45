/**
 * Artifacts as files. Invariants: F1 a file is there whole or not at all: it is written beside, synced, and renamed into
 * place. F2 a directory that was never written to (a volume that is not mounted) says nothing about what is missing.
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ArtifactKey, Artifacts } from "../core/index.ts";
import { pathOf, unavailable } from "./keys.ts";

/** Made with the first artifact; where it is missing, the directory is not the one that was written to. */
const markName = ".reprise-artifacts";
const mark =
  "Large values of Reprise runs lie below, named by the SHA-256 of their content. Deleting one parks its run.\n";

export interface FileArtifactsOptions {
  /** Made when it is first needed. Every client and worker must see the same files there. */
  readonly dir: string;
}

/**
 * Keeps artifacts as files below a directory that all processes share.
 *
 * @throws RepriseError ARTIFACTS_UNAVAILABLE, from `put` and `get`, when the directory cannot be used.
 */
export function fileArtifacts({ dir }: FileArtifactsOptions): Artifacts {
  const base = resolve(dir);
  return {
    put: async (key, content) => {
      try {
        await ensureMark(base);
        await writeWhole(join(base, pathOf(key)), content);
      } catch (error) {
        throw unavailable("could not be written", key, messageOf(error), error);
      }
    },
    get: async (key) => {
      try {
        return await readFile(join(base, pathOf(key)));
      } catch (error) {
        if (isAbsent(error) && (await isMarked(base, key))) return null;
        throw unavailable("could not be read", key, whyUnread(error, base), error);
      }
    },
  };
}

function whyUnread(error: unknown, base: string): string {
  return isAbsent(error) ? `${base} holds no artifacts at all; is its volume mounted?` : messageOf(error);
}

async function isMarked(base: string, key: ArtifactKey): Promise<boolean> {
  try {
    await stat(join(base, markName));
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw unavailable("could not be looked for", key, messageOf(error), error);
  }
}

async function ensureMark(base: string): Promise<void> {
  const path = join(base, markName);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) await writeWhole(path, Buffer.from(mark));
}

async function writeWhole(path: string, content: Uint8Array): Promise<void> {
  const directory = dirname(path);
  const made = await mkdir(directory, { recursive: true });
  // Processes on other hosts may write the same file: only chance tells them apart.
  const beside = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(beside, content, { flush: true });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await syncDirectories(directory, made === undefined ? directory : dirname(made));
}

/** From the innermost outwards: a name lasts once the directory that holds it is synced. */
async function syncDirectories(from: string, to: string): Promise<void> {
  for (let directory = from; ; directory = dirname(directory)) {
    const handle = await open(directory, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (directory === to) return;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
