/** A run goes on in the very structure it was started with, or not at all. */
import { expect, test } from "vitest";
import { z } from "zod";
import { machineOf, machinesOf, registrationOf } from "../../src/core/index.ts";
import { saga, step } from "../../src/saga/index.ts";

function line(version: number, name: string) {
  const only = step(name, { input: z.string(), effect: "none", action: () => undefined });
  return saga("line", { version, input: z.string() })
    .step(only, ({ input }) => input)
    .build();
}

test("a run is served by its saga in its version and structure, and by no other", () => {
  const [first, second] = [line(1, "old"), line(2, "new")];
  const machineFor = machinesOf([first, second]);
  const pinned = registrationOf(first);
  expect(machineFor(pinned)).toBe(machineOf(first.spec));
  expect(machineFor({ ...pinned, version: 2 })).toBeNull();
  expect(machineFor({ ...pinned, version: 3 })).toBeNull();
  expect(machineFor({ ...pinned, hash: registrationOf(line(1, "changed")).hash })).toBeNull();
});
