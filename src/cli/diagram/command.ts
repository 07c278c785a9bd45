/** `reprise diagram`: a saga as a picture. What it shows is `saga/graph.ts`'s. */
import { sagaGraph } from "../../saga/index.ts";
import { command } from "../base/command.ts";
import { oneOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";
import { findDeclared } from "../sagas/find.ts";

interface Flags {
  readonly format?: string;
}

export const diagramCommand = command<[name: string], Flags>({
  name: "diagram",
  summary: "A saga as a picture: the way forward, and mirrored beneath it what undoes each step",
  details: "The same saga gives the same text, so that a picture can be committed and compared.",
  args: [["<name>", "a saga of this project: its newest version, or name@version"]],
  options: [["--format <format>", "mermaid (unless given), svg, or json: nodes and edges with XState's ids"]],
  examples: [
    "reprise diagram order",
    "reprise diagram loan --format svg > loan.svg",
    "reprise diagram order@1 --format json",
  ],
  kinds: ["SagaDiagram"],
  run: async (cli, flags, name) => {
    const graph = sagaGraph(await findDeclared(cli, name));
    const format = flags.format === undefined ? "mermaid" : oneOf(flags.format, "--format", ["mermaid", "svg", "json"]);
    if (format === "json" || cli.out.format === "json" || cli.out.format === "jsonl") {
      // Names of states and steps, no value of anybody's: nothing is masked.
      cli.out.lines([JSON.stringify({ apiVersion: "v1", kind: "SagaDiagram", data: graph })]);
      return exitCodes.ok;
    }
    const draw = format === "svg" ? (await import("./svg.ts")).svgOf : (await import("./mermaid.ts")).mermaidOf;
    cli.out.lines(draw(graph));
    return exitCodes.ok;
  },
});
