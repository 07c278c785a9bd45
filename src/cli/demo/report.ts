/**
 * Owns: the judgement of a story from the two files it left: what each chapter claims and the world observed, whether it
 * went as told, and every difference. Pure. Does not own: when a single chapter is as told (checks.ts).
 */
import { checks } from "./checks.ts";
import type { Claim } from "./claims.ts";
import { type Comparison, compare, type Difference, type Joined } from "./compare.ts";
import type { PlayedChapter, Story } from "./story.ts";
import type { Observed, Witness } from "./witness.ts";

export interface ChapterReport {
  readonly name: string;
  /** It went as told, and claims and observations agree. */
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly claimed: readonly Claim[];
  readonly observed: readonly Observed[];
  readonly rows: readonly Joined[];
}

export interface Report {
  readonly chapters: readonly ChapterReport[];
  /** What belongs to no chapter: only the world knows of it. */
  readonly strangers: readonly Joined[];
  readonly differences: readonly Difference[];
  readonly ok: boolean;
}

/** Judges a story by the world's file. */
export function reportOn(story: Story, witness: Witness): Report {
  const comparison = compare(
    story.chapters.flatMap((chapter) => chapter.claims),
    witness,
  );
  const chapters = story.chapters.map((chapter) => chapterReport(chapter, comparison, witness));
  const told = new Set(chapters.flatMap(({ rows }) => rows));
  const { differences } = comparison;
  return {
    chapters,
    strangers: comparison.rows.filter((row) => !told.has(row)),
    differences,
    ok: differences.length === 0 && chapters.every(({ ok }) => ok),
  };
}

function chapterReport(chapter: PlayedChapter, { rows }: Comparison, witness: Witness): ChapterReport {
  const runs = new Set(chapter.runs.map(({ id }) => id));
  const mine = rows.filter(({ claimed, observed }) => {
    return claimed === null ? observed?.runs.some((run) => runs.has(run)) : runs.has(claimed.run);
  });
  const check = checks[chapter.key];
  const problems = [
    ...chapter.problems,
    ...(check === undefined ? ["nobody knows how this chapter should go"] : check(chapter, witness.lines)),
  ];
  return {
    name: chapter.name,
    ok: problems.length === 0 && mine.every(({ difference }) => difference === null),
    problems,
    claimed: chapter.claims,
    observed: mine.flatMap(({ observed }) => observed ?? []),
    rows: mine,
  };
}
