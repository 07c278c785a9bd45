/** `reprise schema`: the JSON schemas of what a saga is started with, takes, is given and answers. */
import type { Json } from "../../saga/index.ts";
import { command } from "../base/command.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { findSaga, nameArg } from "./find.ts";

interface Flags {
  readonly of?: string;
}

export const schemaCommand = command<[name: string], Flags>({
  name: "schema",
  summary: "The JSON schemas of a saga: its input, its events, inputs and outputs of its steps",
  args: [nameArg],
  options: [["--of <part>", "one of them alone, as it stands: input, 'event PAID', 'charge input', 'charge output'"]],
  examples: [
    "reprise schema order",
    "reprise schema order --of input > order.schema.json",
    "reprise schema store:order@1 --of 'charge output' --json",
  ],
  kinds: ["SagaSchemas"],
  run: async (cli, { of }, name) => {
    const { saga, version, schemas: text } = (await findSaga(cli, name)).registration;
    // The text is of `schemasOf`; an older process registered none.
    const all = (text === "" ? {} : JSON.parse(text)) as Readonly<Record<string, Json>>;
    if (of !== undefined && !Object.hasOwn(all, of))
      throw new UsageError(`--of ${of}: ${saga}@${version} has ${Object.keys(all).join(", ") || "none"}`);
    const schemas = of === undefined ? all : { [of]: all[of] ?? null };
    // Names of properties, which may look like those of credentials, and no value of anybody's: nothing is masked.
    const isData = cli.out.format === "json" || cli.out.format === "jsonl";
    const document = { apiVersion: "v1", kind: "SagaSchemas", data: { saga, version, schemas } };
    cli.out.lines(
      isData
        ? [JSON.stringify(document)]
        : JSON.stringify(of === undefined ? schemas : schemas[of], null, 2).split("\n"),
    );
    return exitCodes.ok;
  },
});
