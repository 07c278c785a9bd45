/**
 * Owns: what a demonstration leaves behind in its directory, so that it can be judged, and judged again, from files
 * alone: `world.jsonl`, written by the world, and `claims.json`, written by us. Does not own: the judgement (report.ts).
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { UsageError } from "../exit.ts";
import { Claim } from "./claims.ts";
import { readWitness, type Witness } from "./witness.ts";

const PlayedRun = z.object({
  id: z.string(),
  saga: z.string(),
  status: z.string(),
  rollback: z.string(),
  /** Why it is parked for a person; `null`: it is not. */
  review: z.string().nullable(),
});
export type PlayedRun = Readonly<z.infer<typeof PlayedRun>>;

const PlayedChapter = z.object({
  key: z.string(),
  name: z.string(),
  runs: z.array(PlayedRun).readonly(),
  claims: z.array(Claim).readonly(),
  /** The process that was killed on the way, and the signal with which it was seen to end. */
  killed: z.object({ pid: z.int(), signal: z.string().nullable() }).nullable(),
  /** What went wrong while it was played. */
  problems: z.array(z.string()).readonly(),
});
export type PlayedChapter = Readonly<z.infer<typeof PlayedChapter>>;

const Story = z.object({ format: z.literal(1), namespace: z.string(), chapters: z.array(PlayedChapter).readonly() });
export type Story = Readonly<z.infer<typeof Story>>;

export const worldFile = (dir: string) => join(dir, "world.jsonl");
export const claimsFile = (dir: string) => join(dir, "claims.json");

export async function writeStory(dir: string, story: Story): Promise<void> {
  await mkdir(dir, { recursive: true });
  await writeFile(claimsFile(dir), `${JSON.stringify(story, null, 2)}\n`);
}

/** What an earlier demonstration left in `dir`. Throws a `UsageError` where that is not what is there. */
export async function readStory(dir: string): Promise<{ readonly story: Story; readonly witness: Witness }> {
  const [claims, world] = await Promise.all([read(claimsFile(dir)), read(worldFile(dir))]);
  const story = Story.safeParse(parsed(claims));
  if (!story.success) throw new UsageError(`${claimsFile(dir)} is not what \`reprise demo\` writes there.`);
  return { story: story.data, witness: readWitness(world) };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw new UsageError(`${path} cannot be read. Give the directory that \`reprise demo\` printed.`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
