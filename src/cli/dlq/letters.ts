/** Owns: reading parked runs page by page, and grouping them by what they are parked for. */
import type { InboxItem, InboxQuery } from "../../client/index.ts";
import type { UnreadableRun } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";

/** Parked runs that are looked at, at most. */
export const maxLetters = 1_000;

export interface Letters {
  readonly items: readonly InboxItem[];
  readonly unreadable: readonly UnreadableRun[];
  /** `null`: there are no more. */
  readonly cursor: string | null;
}

/** What is parked for a person, of one page of the inbox. */
export async function lettersPage(cli: Cli, query: InboxQuery): Promise<Letters> {
  const { items, unreadable, cursor } = await (await cli.client()).inbox(query);
  return { items: items.filter(({ kind }) => kind === "review"), unreadable, cursor };
}

/** All of them, as far as `maxLetters` go. */
export async function allLetters(cli: Cli, query: InboxQuery): Promise<Letters> {
  const items: InboxItem[] = [];
  const unreadable: UnreadableRun[] = [];
  for (let from: { readonly cursor?: string } = {}; ; ) {
    const page = await lettersPage(cli, { ...query, limit: 200, ...from });
    items.push(...page.items);
    unreadable.push(...page.unreadable);
    if (page.cursor === null || items.length >= maxLetters) return { items, unreadable, cursor: page.cursor };
    from = { cursor: page.cursor };
  }
}

/** Runs that are parked for the same. */
export interface LetterGroup {
  readonly saga: string;
  readonly version: number;
  readonly step: string | null;
  readonly reason: InboxItem["reason"];
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** The newest few. */
  readonly examples: readonly { readonly tenant: string; readonly id: string }[];
}

const maxExamples = 3;

/** The largest group first. */
export function groupsOf(items: readonly InboxItem[]): readonly LetterGroup[] {
  const groups = new Map<string, InboxItem[]>();
  for (const item of items) {
    const { saga, version, step, reason } = item;
    const key = JSON.stringify([saga, version, step, reason]);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()].flatMap(groupOf).toSorted((a, b) => b.count - a.count);
}

function groupOf(items: readonly InboxItem[]): readonly LetterGroup[] {
  const [one] = items;
  if (one === undefined) return [];
  const { saga, version, step, reason } = one;
  const times = items.map(({ since }) => since);
  const newest = items.toSorted((a, b) => b.since - a.since).slice(0, maxExamples);
  return [
    {
      ...{ saga, version, step, reason, count: items.length, first: Math.min(...times), last: Math.max(...times) },
      examples: newest.map(({ tenant, id }) => ({ tenant, id })),
    },
  ];
}
