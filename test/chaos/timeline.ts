/** What happened to the run that a violation is about, by all witnesses, in the order of time; as much as can be read. */
import type { Store } from "../../src/core/index.ts";
import type { WorldEntry } from "../../src/testing/index.ts";
import type { Books } from "./books.ts";
import { type Acked, namespace, tenant } from "./words.ts";

const maxLines = 80;
/** Of what goes wrong, what is shown from before the run began and after it ended. */
const aroundMs = 3_000;

export interface TimelineParts {
  readonly books: Books;
  readonly store: Store;
  readonly world: readonly WorldEntry[];
  readonly acked: readonly Acked[];
}

interface Line {
  readonly at: number;
  readonly text: string;
}

export async function timelineOf(violation: string, parts: TimelineParts): Promise<readonly string[]> {
  const id = runIn(violation);
  if (id === null) return [];
  const lines = [...(await logged(id, parts)), ...worldly(id, parts), ...said(id, parts), ...acknowledged(id, parts)];
  if (lines.length === 0) return [];
  const times = lines.map(({ at }) => at);
  const [from, to] = [Math.min(...times) - aroundMs, Math.max(...times) + aroundMs];
  const around = parts.books.mishaps().filter(({ at }) => at >= from && at <= to);
  const troubles = around.map(({ at, what, pid, owner, note }) => ({
    at,
    text: `!! ${what} ${[pid, owner, note].filter((each) => each !== undefined).join(" ")}`,
  }));
  const sorted = [...lines, ...troubles].sort((a, b) => a.at - b.at);
  return sorted.slice(-maxLines).map(({ at, text }) => `${new Date(at).toISOString().slice(11, 23)} ${text}`);
}

/** The id of the run that a violation is about; `null`: of none. */
export function runIn(violation: string): string | null {
  const [, id = null] =
    new RegExp(`${namespace}/${tenant}/([A-Za-z0-9_.-]+)/`).exec(violation) ??
    new RegExp(`\\b${tenant}[/~:]([A-Za-z0-9_.-]+)`).exec(violation) ??
    /^I11: (\S+) is/.exec(violation) ??
    [];
  return id;
}

async function logged(id: string, { store }: TimelineParts): Promise<readonly Line[]> {
  const log = await store.log({ tenant, id }).catch(() => []);
  return log.map(({ at, revision, from, to, taken, actor, fence }) => {
    const words = taken.map(({ what, ...more }) => `${what}${shown(more)}`).join(", ");
    return { at, text: `   #${revision} ${from} -> ${to} (${actor}, fence ${fence}): ${words}` };
  });
}

function shown(more: object): string {
  const values = Object.values(more).filter((value) => typeof value !== "object");
  return values.length === 0 ? "" : `(${values.join(" ")})`;
}

function worldly(id: string, { world }: TimelineParts): readonly Line[] {
  const mine = world.filter(({ operationId }) => operationId.startsWith(`${namespace}/${tenant}/${id}/`));
  return mine.map(({ at, kind, service, pid, fault, found, n }) => ({
    at: Date.parse(at),
    text: `   world ${n}: ${kind} ${service} from ${pid}${fault === undefined ? "" : ` (${fault})`}${found === undefined ? "" : ` found ${found}`}`,
  }));
}

function said(id: string, { books }: TimelineParts): readonly Line[] {
  const mine = books.history().filter(({ run }) => run.id === id);
  return mine.map(({ at, op, outcome, decision }) => ({
    at,
    text: `   client: ${op} ${decision === undefined ? "" : `${decision.is} by ${decision.by} `}${outcome}`,
  }));
}

function acknowledged(id: string, { acked }: TimelineParts): readonly Line[] {
  const mine = acked.filter((each) => each.id === id);
  return mine.map(({ at, revision, owner, digest }) => ({
    at,
    text: `   acknowledged to ${owner}: #${revision} ${digest.slice(0, 8)}`,
  }));
}
