/** A saga whose first step makes a large value and whose second one uses it; the world is a file, one line an effect. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";

/** What the environment tells a worker process. */
export interface Place {
  readonly REDIS_URL: string;
  readonly REPRISE_NAMESPACE: string;
  readonly REPRISE_ARTIFACTS: string;
  /** The world. */
  readonly WORLD: string;
}

export const large = "what the pages say ".repeat(10_000);

/** Lines of the world: `<step> <operation id> <process>`. */
export function effectsIn(world: string): readonly string[] {
  return existsSync(world) ? readFileSync(world, "utf8").trimEnd().split("\n") : [];
}

/** The other side of a keyed call: it applies a key once, and then answers; the first to ask waits for ever. */
function apply(name: string, operationId: string): "applied" | "known" {
  const world = process.env["WORLD"] ?? "";
  if (effectsIn(world).some((line) => line.split(" ")[1] === operationId)) return "known";
  appendFileSync(world, `${name} ${operationId} ${process.pid}\n`);
  return "applied";
}

const scan = step("scan", {
  input: z.object({}),
  output: z.object({ text: z.string() }),
  effect: "keyed",
  noCompensation: "nothing is left of it",
  action: ({ operationId }) => {
    apply("scan", operationId);
    return { text: large };
  },
});
const file = step("file", {
  input: z.object({ text: z.string() }),
  effect: "keyed",
  noCompensation: "it stays filed",
  action: async ({ input, operationId }) => {
    if (input.text !== large) throw new Error("that is not the document");
    if (apply("file", operationId) === "applied") await new Promise(() => undefined);
    return null;
  },
});

export const archive = saga("archive", { version: 1, input: z.object({}) })
  .step(scan, () => ({}))
  .step(file, ({ results }) => results.scan)
  .build();
