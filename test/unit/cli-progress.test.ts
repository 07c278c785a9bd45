/** How far long work has come is shown to whoever watches, and to nobody else. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Format } from "../../src/cli/base/globals.ts";
import { Out } from "../../src/cli/base/out.ts";
import { progressLine, progressOn } from "../../src/cli/base/progress.ts";
import { colorsIn } from "../../src/cli/colors.ts";

const colors = colorsIn({}, {}, false);
const written = (stream: PassThrough) => String(stream.read() ?? "");

test("the line says what is done, of how much, and how long it will take", () => {
  expect(progressLine({ what: "cancel", done: 10, total: 40, ms: 5_000 })).toBe(
    "cancel  ██████░░░░░░░░░░░░░░░░░░  10/40  25 %  15s left",
  );
  expect(progressLine({ what: "cancel", done: 40, total: 40, ms: 5_000 })).toMatch(/40\/40 {2}100 %$/);
  expect(progressLine({ what: "look", done: 7, total: null, ms: 2_000 })).toBe("look  7  2s");
});

test("it is drawn over itself, not too often, no wider than the terminal, and is gone at the end", () => {
  let now = 0;
  const stream = Object.assign(new PassThrough(), { columns: 20 });
  const progress = progressOn(stream, "delete", 1_000, () => now);
  progress.at(1);
  expect(written(stream)).toBe(`\r\u001b[2Kdelete  ${"░".repeat(11)}`);
  now = 50;
  progress.at(2);
  expect(written(stream)).toBe("");
  now = 150;
  progress.at(500);
  expect(written(stream)).toContain("█");
  progress.end();
  progress.end();
  expect(written(stream)).toBe("\r\u001b[2K");
  now = 900;
  progress.at(1_000);
  expect(written(stream)).toBe("");
});

test.each([
  ["a terminal", { isTTY: true, format: "table", quiet: false, env: {} }, true],
  ["a file", { isTTY: false, format: "table", quiet: false, env: {} }, false],
  ["-q", { isTTY: true, format: "table", quiet: true, env: {} }, false],
  ["--json", { isTTY: true, format: "json", quiet: false, env: {} }, false],
  ["a dumb terminal", { isTTY: true, format: "table", quiet: false, env: { TERM: "dumb" } }, false],
] as const)("with %s", (_, { isTTY, format, quiet, env }, isShown) => {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const rest = { verbose: false, reveal: false, colors, noteColors: colors };
  const out = new Out({ stdout: new PassThrough(), stderr, env, format: format as Format, quiet, ...rest });
  out.progress("cancel", 10).at(5);
  expect(written(stderr) !== "").toBe(isShown);
});
