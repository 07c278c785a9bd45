/**
 * Owns: what a demonstration comes to: it is told, or an earlier one is looked at again; what the ledger claims is compared
 * with what the world observed; it ends 0 only if they agree and every chapter went as it should.
 */
import { resolve } from "node:path";
import { type Colors, colorsFor } from "../colors.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import type { DemoOptions } from "./options.ts";
import type { OrderList } from "./orders.ts";
import { type Report, reportOn } from "./report.ts";
import { claimsFile, readStory, worldFile } from "./story.ts";
import { renderReport } from "./table.ts";

export async function runDemo(options: DemoOptions): Promise<ExitCode> {
  if (options.verify !== undefined) return await verify(options.verify, options);
  const { tell } = await import("./tell.ts");
  const { dir, list } = await tell(options);
  if (dir !== null) return await judge(dir, options, list);
  if (options.json) console.log(JSON.stringify(asJson(nothing, null, list)));
  return exitCodes.usage;
}

const nothing: Report = { chapters: [], strangers: [], differences: [], ok: true };

async function verify(given: string, options: DemoOptions): Promise<ExitCode> {
  if (options.input !== undefined) throw new UsageError("--verify compares an earlier demo: it takes no --input.");
  return await judge(resolve(given), options, null);
}

async function judge(dir: string, options: DemoOptions, list: OrderList | null): Promise<ExitCode> {
  const { story, witness } = await readStory(dir);
  const report = reportOn(story, witness);
  if (options.json) console.log(JSON.stringify(asJson(report, dir, list)));
  else console.log(asText(report, dir, colorsFor(process.stdout)));
  if (!report.ok) return exitCodes.failed;
  return list === null || list.errors.length === 0 ? exitCodes.ok : exitCodes.partial;
}

function asJson({ chapters, differences }: Report, dir: string | null, list: OrderList | null): unknown {
  return {
    chapters: chapters.map(({ name, ok, problems, claimed, observed }) => ({ name, ok, claimed, observed, problems })),
    differences: differences.length,
    differenceRows: differences,
    ...(list === null ? {} : { inputErrors: list.errors, repeatedLines: list.repeated }),
    dir,
  };
}

function asText(report: Report, dir: string, colors: Colors): string {
  const again = `npm start -- --verify ${dir}`;
  const where = [`world's file  ${worldFile(dir)}`, `claims        ${claimsFile(dir)}`, `compare again ${again}`];
  return ["", renderReport(report, colors), "", ...where.map((line) => colors.dim(line))].join("\n");
}
