/** What XState would only find out in a development build, or at a restore, is refused when the saga is declared. */
import { beforeAll, describe, expect, test } from "vitest";
import { leaveEvidence } from "../support/evidence.ts";
import { spawnChild } from "../support/processes.ts";
import type { Refused } from "./scenarios-words.ts";

interface Refusals {
  readonly inline: Refused;
  readonly systemId: Refused;
}

let refusals: Refusals;

beforeAll(async () => {
  const child = await spawnChild(new URL("scenarios-register.child.ts", import.meta.url), {
    env: { NODE_ENV: "production" },
    asWritten: true,
  });
  refusals = await child.nextMessage((message): message is Refusals => typeof message === "object", 50_000);
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

describe("in a process with NODE_ENV=production", () => {
  test("R062 a saga with an inline actor is refused where it is declared, naming the state", () => {
    const { code, message, findings } = production(refusals.inline);
    expect(code).toBe("DEFINITION_INVALID");
    expect(findings).toMatchObject([{ code: "INLINE_ACTOR", saga: "inline", state: "outer.asking" }]);
    expect(message).toContain('saga "inline", state "outer.asking"');
    leaveEvidence("R062", { checks: ["refused in production, with its path"], refusal: { code, message } });
  });

  test("R063 a saga whose invoke has a systemId is refused where it is declared, naming the state and the fix", () => {
    const { code, message, findings } = production(refusals.systemId);
    expect(code).toBe("DEFINITION_INVALID");
    expect(findings).toMatchObject([{ code: "SYSTEM_ID", saga: "system-id", state: "looking" }]);
    expect(message).toContain("Leave systemId out");
    leaveEvidence("R063", { checks: ["refused in production, with its path"], refusal: { code, message } });
  });
});

/** Checks that it was XState's production build that would have said nothing. */
function production(refused: Refused): Refused {
  expect(refused.mode).toBe("production");
  expect(refused.xstate).not.toContain("development");
  return refused;
}
