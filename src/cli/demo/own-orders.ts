/** Owns: running the order saga on the user's own list, as one chapter, however long the list is. */
import { readFile } from "node:fs/promises";
import { ResultTimeout, RunCancelled, RunFailed, type RunHandle, RunNeedsReview } from "../../client/index.ts";
import type { Saga } from "../../saga/index.ts";
import { UsageError } from "../exit.ts";
import { playedBy } from "./chapters.ts";
import type { Narrator } from "./narrator.ts";
import { formatInputError, type OrderLine, type OrderList, readOrders } from "./orders.ts";
import { patiently } from "./patience.ts";
import type { Stage } from "./stage.ts";
import type { PlayedChapter } from "./story.ts";

/** Started and waited for together. */
const chunkSize = 50;
const orderTimeout = "60s";

/** Reads the list, or says why it cannot be read. */
export async function readOrderFile(path: string, sagas: readonly Saga[]): Promise<OrderList> {
  const order = sagas.find(({ name }) => name === "order");
  if (order === undefined) throw new UsageError('There is no saga "order" in sagas/index.');
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return readOrders(text, order.spec.input);
}

/** Says what is wrong with the list before anything runs. */
export function tellAboutList(path: string, list: OrderList, narrator: Narrator): void {
  const { red, yellow } = narrator.colors;
  for (const error of list.errors) narrator.say(`${red("✗")} ${path}, ${formatInputError(error)}`);
  for (const { line, id, firstLine } of list.repeated) {
    narrator.say(`${yellow("!")} ${path}, line ${line}, id: "${id}" repeats line ${firstLine}; it is run once`);
  }
}

/** Runs every order to its end. */
export async function playOrders(stage: Stage, path: string, orders: readonly OrderLine[]): Promise<PlayedChapter> {
  const { narrator } = stage;
  const name = `${orders.length} order${orders.length === 1 ? "" : "s"} of ${path}`;
  narrator.say(`\n${narrator.colors.bold(name)}`);
  const parts: Pick<PlayedChapter, "runs" | "claims" | "problems">[] = [];
  for (let from = 0; from < orders.length; from += chunkSize) {
    narrator.live(`${from} of ${orders.length} are done`);
    parts.push(await playChunk(stage, orders.slice(from, from + chunkSize)));
  }
  narrator.live(null);
  const runs = parts.flatMap((part) => part.runs);
  const completed = runs.filter(({ status }) => status === "completed").length;
  narrator.say(`    ${completed} of ${orders.length} completed`);
  const claims = parts.flatMap((part) => part.claims);
  return { key: "orders", name, runs, claims, killed: null, problems: parts.flatMap((part) => part.problems) };
}

async function playChunk({ client, signal }: Stage, orders: readonly OrderLine[]) {
  const handles = await Promise.all(
    orders.map(({ id, order }) => patiently(() => client.startByName("order", order, { id }), signal)),
  );
  const problems = await Promise.all(handles.map((run) => patiently(() => problemsOf(run), signal)));
  return { ...(await playedBy(handles, signal)), problems: problems.flat() };
}

/** How it ends is read afterwards; only one that does not end is a problem by itself. */
async function problemsOf(run: RunHandle): Promise<readonly string[]> {
  try {
    await run.result({ timeout: orderTimeout });
    return [];
  } catch (error) {
    if (error instanceof ResultTimeout) return [`${run.id} did not end within ${orderTimeout}`];
    if (error instanceof RunFailed || error instanceof RunNeedsReview || error instanceof RunCancelled) return [];
    throw error;
  }
}
