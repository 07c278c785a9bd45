/** The figures as a person reads them: each with its goal, and whether it was reached. */
import { cpus } from "node:os";
import type { Bench, Figures } from "./bench.ts";
import type { Size } from "./sizes.ts";

const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });

export function headerOf(size: Size): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} x ${cpu?.model.trim() ?? "unknown CPU"}, Node ${process.versions.node}`;
  return `${size.name}: ${size.rounds} rounds of ${number.format(size.sagas)} sagas on ${machine}\n`;
}

export function tableOf({ name, goals, draw }: Bench, figures: Figures): string {
  if (draw !== undefined) return [name, draw(figures), ""].join("\n");
  const lines = Object.entries(goals).map(([figure, goal]) => {
    const value = figures[figure] ?? Number.NaN;
    const verdict = goal === null ? "" : `${goal.text.padEnd(18)} ${goal.isMet(value) ? "reached" : "MISSED"}`;
    return `  ${figure.padEnd(28)} ${number.format(value).padStart(12)}   ${verdict}`.trimEnd();
  });
  return [name, ...lines, ""].join("\n");
}
