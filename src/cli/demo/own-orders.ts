/** Owns: running the order saga on the user's own list, as one chapter, however long the list is. */
import { readFile } from "node:fs/promises";
import { ResultTimeout, type RunHandle } from "../../client/index.ts";
import type { Saga } from "../../saga/index.ts";
import { UsageError } from "../exit.ts";
import { playedBy } from "./chapters.ts";
import { unlessAborted } from "./follow.ts";
import type { Narrator } from "./narrator.ts";
import { formatInputError, type OrderLine, type OrderList, readOrders } from "./orders.ts";
import type { Stage } from "./stage.ts";
import type { PlayedChapter } from "./story.ts";

/** Started and waited for together. */
const chunkSize = 200;
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
  const { narrator, signal } = stage;
  const name = `${orders.length} order${orders.length === 1 ? "" : "s"} of ${path}`;
  narrator.say(`\n${narrator.colors.bold(name)}`);
  const parts: Pick<PlayedChapter, "runs" | "claims" | "problems">[] = [];
  for (let from = 0; from < orders.length; from += chunkSize) {
    narrator.live(`${from} of ${orders.length} are done`);
    parts.push(await unlessAborted(playChunk(stage, orders.slice(from, from + chunkSize)), signal));
  }
  narrator.live(null);
  const runs = parts.flatMap((part) => part.runs);
  const completed = runs.filter(({ status }) => status === "completed").length;
  narrator.say(`    ${completed} of ${orders.length} completed`);
  const claims = parts.flatMap((part) => part.claims);
  return { key: "orders", name, runs, claims, killed: null, problems: parts.flatMap((part) => part.problems) };
}

async function playChunk({ client }: Stage, orders: readonly OrderLine[]) {
  const handles = await Promise.all(orders.map(({ id, order }) => client.startByName("order", order, { id })));
  const problems = await Promise.all(handles.map(waitFor));
  return { ...(await playedBy(handles)), problems: problems.flat() };
}

/** How it ends is read afterwards; only one that does not end is a problem by itself. */
async function waitFor(run: RunHandle): Promise<readonly string[]> {
  try {
    await run.result({ timeout: orderTimeout });
    return [];
  } catch (error) {
    return error instanceof ResultTimeout ? [`${run.id} did not end within ${orderTimeout}`] : [];
  }
}
