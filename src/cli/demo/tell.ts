/** Owns: the telling: stage, story or the user's own orders, and the two files that are left of it. */
import { setMaxListeners } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chapters, playChapter } from "./chapters.ts";
import { onInterrupt } from "./interrupt.ts";
import { narrate } from "./narrator.ts";
import type { OrderList } from "./orders.ts";
import { playOrders, readOrderFile, tellAboutList } from "./own-orders.ts";
import { unlessAborted } from "./patience.ts";
import { loadSagas } from "./processes.ts";
import { Stage } from "./stage.ts";
import { type PlayedChapter, writeStory } from "./story.ts";

type TellOptions = { readonly input?: string; readonly allowForgetfulStore?: boolean };

export interface Told {
  /** Where the world's file and the claims are; `null`: the list held nothing that could be run. */
  readonly dir: string | null;
  readonly list: OrderList | null;
}

interface OwnOrders {
  readonly path: string;
  readonly list: OrderList;
}

/** Tells everything to its end, and stops what it started. Throws `Interrupted` at Ctrl-C. */
export async function tell({ input, allowForgetfulStore = false }: TellOptions): Promise<Told> {
  const narrator = narrate(process.stderr);
  const sagas = await loadSagas();
  const own = input === undefined ? null : { path: input, list: await readOrderFile(input, sagas) };
  if (own !== null) tellAboutList(own.path, own.list, narrator);
  const list = own?.list ?? null;
  if (list?.orders.length === 0) return { dir: null, list };
  const dir = await mkdtemp(join(tmpdir(), "reprise-demo-"));
  const abort = new AbortController();
  setMaxListeners(0, abort.signal); // one for each order that is waited for
  const stage = new Stage({ dir, sagas, narrator, abort, allowForgetfulStore });
  const stopListening = onInterrupt(abort, () => stage.abandon());
  try {
    await play(stage, own);
  } finally {
    await stage.close();
    narrator.close();
    stopListening();
  }
  return { dir, list };
}

async function play(stage: Stage, own: OwnOrders | null): Promise<void> {
  const { narrator, signal, dir, namespace } = stage;
  const { bold } = narrator.colors;
  narrator.say(bold("Reprise: sagas that survive kill -9, and never lie about what happened outside\n"));
  await unlessAborted(stage.set(), signal);
  const played: PlayedChapter[] = [];
  if (own !== null) played.push(await playOrders(stage, own.path, own.list.orders));
  else for (const [index, chapter] of chapters.entries()) played.push(await playChapter(stage, chapter, index + 1));
  // Only when nobody can call the world any more is its file complete.
  await stage.stopWorkers();
  await writeStory(dir, { format: 1, namespace, chapters: played });
}
