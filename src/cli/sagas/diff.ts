/** `reprise diff`: what is different between two versions of a saga, or between this project and what is registered. */
import { structureChanges } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { type FoundSaga, findSaga, readSagaName } from "./find.ts";

export const diffCommand = command<[before: string, after?: string], object>({
  name: "diff",
  summary: "What is different between two versions of a saga: states, transitions, steps, effect classes, schemas",
  details:
    "A version is looked for in this project, then in the store; code: and store: say which is meant. With one name: what is registered of it,\nagainst this project.",
  args: [
    ["<before>", "name@version"],
    ["[after]", "name@version"],
  ],
  examples: [
    "reprise diff order@1 order@2",
    "reprise diff order@1 --redis redis://127.0.0.1:6379",
    "reprise diff store:order@1 code:order@2 --json",
  ],
  kinds: ["SagaDiff"],
  run: async (cli, _, first, second) => {
    const [before, after] = await bothOf(cli, first, second);
    const changes = structureChanges(before.registration, after.registration);
    const same = before.registration.hash === after.registration.hash;
    const data = { before: sideOf(before), after: sideOf(after), same, changes };
    cli.out.document("SagaDiff", data, {
      lines: () => [
        [ink("bold", nameOf(before)), " -> ", ink("bold", nameOf(after))],
        ...(changes.length === 0 ? [ink("green", "  nothing is different")] : changes.map((change) => `  ${change}`)),
      ],
    });
    if (changes.length > 0 && same) cli.out.note("Runs are not pinned to schemas: these are one structure.");
    return exitCodes.ok;
  },
});

async function bothOf(cli: Cli, first: string, second: string | undefined): Promise<readonly [FoundSaga, FoundSaga]> {
  if (second !== undefined) return [await findSaga(cli, first), await findSaga(cli, second)];
  const { where, name, version } = readSagaName(first);
  if (where !== null)
    throw new UsageError(
      `${first} and what? Name another version, or ${name} alone: the registered one against this project`,
    );
  const after = await findSaga(cli, `code:${name}${version === null ? "" : `@${version}`}`);
  return [await findSaga(cli, `store:${name}@${after.registration.version}`), after];
}

function sideOf({ from, registration: { saga, version, hash } }: FoundSaga) {
  return { saga, version, hash, from };
}

function nameOf({ from, registration: { saga, version } }: FoundSaga): string {
  return `${saga}@${version} (${from === "code" ? "here" : "registered"})`;
}
