import { describe, expect, test } from "vitest";
import { foldLog } from "../../src/core/index.ts";
import type { Step } from "../../src/saga/index.ts";
import {
  close,
  done,
  notApplied,
  ok,
  Play,
  refused,
  resolveHappened,
  retry,
  timedOut,
  unusable,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

const suspended = { kind: "suspended", reason: "the run is parked" } as const;

interface Using {
  readonly mail?: CallOptions;
  readonly agent?: CallOptions;
}

function agentWith({ mail = {}, agent = {} }: Using = {}): Step {
  const uses = { lookup: call("lookup", { effect: "none" }), mail: call("mail", { effect: "once", ...mail }) };
  return call("agent", { effect: "none", uses, ...agent });
}

/** `agent` is under way, then `ship`. */
function working(using: Using = {}): Play {
  return new Play(line([agentWith(using), call("ship")]));
}

const to = (who: string) => ({ key: ["mail", who], input: { to: who } });

describe("a tool call", () => {
  test("is a row of its own, sent only when that is committed, and answered with what came of it", () => {
    const play = working();
    const ask = play.ask("agent", "mail", to("ann"));
    expect(play.row("mail")).toMatchObject({ tool: { parent: 1, asks: 1 }, call: { state: "sent", effect: "once" } });
    expect(play.toolAnswer(ask)).toEqual({ is: "pending" });
    play.answer("mail", ok("m-1"));
    expect(play.toolAnswer(ask)).toEqual({ is: "output", output: { id: "m-1" } });
    play.answer("agent", ok());
    play.answer("ship", ok());
    expect(play.status).toBe("completed");
    expect(Object.keys(play.run.record.output as object)).toEqual(["agent", "ship"]);
  });

  test("asked again, before or after, is absorbed and counted", () => {
    const play = working();
    const first = play.ask("agent", "mail", to("ann"));
    const twice = play.ask("agent", "mail", to("ann"));
    play.answer("mail", ok("m-1"));
    const thrice = play.ask("agent", "mail", to("ann"));
    for (const ask of [first, twice, thrice]) expect(play.toolAnswer(ask)).toMatchObject({ is: "output" });
    expect(play.row("mail").tool?.asks).toBe(3);
    expect(play.ordered).toEqual(["agent", "mail"]);
    expect(play.taken()).toContainEqual({ what: "tool", seq: 2, again: true });
  });

  test("under the same key with other arguments is refused, in words that say what stands", () => {
    const play = working();
    play.ask("agent", "mail", to("ann"));
    const early = play.ask("agent", "mail", { ...to("ann"), input: { to: "Ann" } });
    expect(play.toolAnswer(early)).toMatchObject({ is: "refused", message: expect.stringContaining("not there yet") });
    play.answer("mail", ok());
    expect(play.toolAnswer(early)).toMatchObject({ message: expect.stringContaining("it has happened") });
    expect(play.toolAnswer(early)).toMatchObject({ message: expect.stringContaining('{"to":"ann"}') });
    expect(play.ordered).toEqual(["agent", "mail"]);
  });

  test("with arguments that do not fit, or an intent that cannot be computed, is not made", () => {
    const play = working({
      mail: {
        intent: ({ input }) => {
          if ((input as { to?: string }).to === undefined) throw new Error("to whom?");
          return null;
        },
      },
    });
    const ask = play.ask("agent", "mail", { input: {} });
    expect(play.toolAnswer(ask)).toMatchObject({ is: "refused", message: expect.stringContaining("to whom?") });
    expect(play.run.rows).toHaveLength(1);
    const unfit = { ...ask, input: undefined as never };
    expect(play.toolAnswer(unfit)).toMatchObject({ is: "refused", message: expect.stringContaining("do not fit") });
  });

  test("without a key is made each time", () => {
    const play = working();
    play.ask("agent", "lookup");
    play.ask("agent", "lookup");
    expect(play.ordered).toEqual(["agent", "lookup", "lookup"]);
  });

  test("of a tool that the step does not use, or by an action that is over, is not heard", () => {
    const play = working();
    play.step({ type: "tool", ask: "x", parent: 1, send: 1, tool: "pay", key: null, intent: null, input: {} });
    play.step({ type: "tool", ask: "x", parent: 7, send: 1, tool: "mail", key: null, intent: null, input: {} });
    expect(play.run.rows).toHaveLength(1);
    const ask = play.ask("agent", "lookup");
    play.answer("agent", ok());
    expect(play.toolAnswer(ask)).toEqual({ is: "lost" });
  });

  test("is pending before anybody has heard of it", () => {
    const play = working();
    const ask = play.ask("agent", "lookup");
    expect(play.toolAnswer({ ...ask, ask: "another" })).toEqual({ is: "pending" });
  });

  test("that failed for good is told to the action, which may do without; the same one is not tried again", () => {
    const play = working({ mail: { retry: { attempts: 1 } } });
    const ask = play.ask("agent", "mail", to("ann"));
    play.answer("mail", refused("no such address"));
    expect(play.toolAnswer(ask)).toMatchObject({ is: "failed", failure: { message: "no such address" } });
    const again = play.ask("agent", "mail", to("ann"));
    expect(play.toolAnswer(again)).toMatchObject({ is: "failed" });
    const other = play.ask("agent", "mail", { ...to("ann"), input: {} });
    expect(play.toolAnswer(other)).toMatchObject({ message: expect.stringContaining("was not applied") });
    play.answer("agent", ok());
    play.answer("ship", ok());
    expect(play.status).toBe("completed");
  });

  test("that nobody waited for is waited for before the action's word counts", () => {
    const play = working();
    play.ask("agent", "mail", to("ann"));
    play.answer("agent", ok());
    expect(play.flying()).toEqual(["mail"]);
    play.answer("mail", ok());
    expect(play.flying()).toEqual(["ship"]);
  });

  test("its history can be read back though the machine knows nothing of it", () => {
    const play = working();
    play.ask("agent", "mail", to("ann"));
    play.ask("agent", "mail", to("ann"));
    play.answer("mail", ok());
    play.answer("agent", ok());
    play.answer("ship", ok());
    const steps = foldLog(play.machine, { record: play.run.record, rows: play.run.rows }, play.log);
    expect(steps.map(({ problem }) => problem)).toEqual(play.log.map(() => null));
  });
});

describe("an action that is made again", () => {
  test("meets what happened, by key and not by position, whichever way it takes", () => {
    const play = working();
    play.ask("agent", "mail", to("ann"));
    play.answer("mail", ok("m-1"));
    play.ask("agent", "lookup");
    play.takeOver();
    expect(play.flying()).toEqual(["agent", "lookup"]);
    play.ask("agent", "mail", to("bob"));
    const ann = play.ask("agent", "mail", to("ann"));
    expect(play.toolAnswer(ann)).toEqual({ is: "output", output: { id: "m-1" } });
    expect(play.ordered.filter((name) => name === "mail")).toHaveLength(2);
  });

  test("waits for a tool that is being found out, and is not made a second time meanwhile", () => {
    const play = working({ mail: { probe: true } });
    play.ask("agent", "mail", to("ann"));
    play.takeOver();
    const ask = play.ask("agent", "mail", to("ann"));
    expect(play.toolAnswer(ask)).toEqual({ is: "pending" });
    play.probe("mail", "happened", { id: "found" });
    expect(play.toolAnswer(ask)).toEqual({ is: "output", output: { id: "found" } });
    expect(play.ordered.filter((name) => name === "mail")).toHaveLength(1);
  });
});

describe("a tool that cannot be answered now", () => {
  test("parks the run; the action is broken off without counting, and made again when a person has said what happened", () => {
    const play = working();
    const ask = play.ask("agent", "mail", to("ann"));
    play.answer("mail", timedOut());
    expect(play.review).toMatchObject({ reason: "unknown_outcome", seq: 2 });
    expect(play.toolAnswer(ask)).toMatchObject({ is: "suspended" });
    play.answer("agent", suspended);
    expect(play.row("agent").call).toMatchObject({ state: "planned", attempt: 0 });
    expect(play.held).toBe(false);
    const early = { ...ask, send: 2 };
    expect(play.toolAnswer(early)).toEqual({ is: "lost" });
    play.verb(resolveHappened({ id: "m-1" }));
    const again = play.ask("agent", "mail", to("ann"));
    expect(play.toolAnswer(again)).toEqual({ is: "output", output: { id: "m-1" } });
  });

  test("is not even begun while the run is parked, paused, going back or stopping", () => {
    const parked = working();
    parked.ask("agent", "mail", to("ann"));
    parked.answer("mail", timedOut());
    expect(parked.toolAnswer(parked.ask("agent", "mail", to("bob")))).toMatchObject({
      is: "suspended",
      why: expect.stringContaining("parked"),
    });
    const paused = working();
    paused.pause();
    expect(paused.toolAnswer(paused.ask("agent", "lookup"))).toMatchObject({ why: "the run is paused" });
    const stopping = working();
    stopping.stop();
    expect(stopping.toolAnswer(stopping.ask("agent", "lookup"))).toMatchObject({ why: "the worker is stopping" });
    for (const play of [parked, paused, stopping]) {
      expect(play.run.rows.filter((row) => row.tool !== null && row.step !== "mail")).toEqual([]);
    }
  });

  test("one that is out is still waited for", () => {
    const play = working();
    const ask = play.ask("agent", "mail", to("ann"));
    play.pause();
    expect(play.toolAnswer(ask)).toEqual({ is: "pending" });
    play.answer("mail", ok());
    play.resume();
    expect(play.toolAnswer(ask)).toMatchObject({ is: "output" });
  });

  test("an output that does not fit parks, too", () => {
    const play = working();
    const ask = play.ask("agent", "mail", to("ann"));
    play.answer("mail", unusable);
    expect(play.review).toMatchObject({ reason: "defect", seq: 2 });
    expect(play.toolAnswer(ask)).toMatchObject({ is: "suspended" });
  });

  test("retries used up are asked about where the tool wants that", () => {
    const play = working({ mail: { retry: { attempts: 1 }, onExhausted: "review" } });
    play.ask("agent", "mail", to("ann"));
    play.answer("mail", notApplied());
    expect(play.review).toMatchObject({ reason: "exhausted", seq: 2 });
    play.answer("agent", suspended);
    play.verb(retry());
    expect(play.flying()).toEqual(["agent", "mail"]);
  });

  test("a word that an action was broken off says nothing where it comes late", () => {
    const play = working();
    play.answer("agent", ok());
    play.late("agent", 1, suspended);
    expect(play.row("agent").call.state).toBe("succeeded");
  });
});

describe("an intent of a tool", () => {
  test("is claimed like any other", () => {
    const play = working();
    play.ask("agent", "mail", { intent: ["welcome", "ann"], input: {} });
    expect(play.row("mail")).toMatchObject({ call: { state: "claiming" }, intent: { key: ["welcome", "ann"] } });
    play.claimed("mail", { answer: "MINE", generation: 1 });
    expect(play.flying()).toEqual(["agent", "mail"]);
  });

  test("declared by its step, it is what a repeat is known by", () => {
    const play = working({ mail: { intent: ({ input }) => ["mail", (input as { to: string }).to] } });
    play.ask("agent", "mail", { input: { to: "ann" } });
    play.ask("agent", "mail", { input: { to: "ann" } });
    expect(play.row("mail").tool?.asks).toBe(2);
    expect(play.row("mail").intent?.key).toEqual(["mail", "ann"]);
  });

  test("of one without an effect only tells repeats apart", () => {
    const play = working();
    play.ask("agent", "lookup", { intent: ["ann"] });
    play.ask("agent", "lookup", { intent: ["ann"] });
    expect(play.row("lookup")).toMatchObject({ intent: null, tool: { asks: 2 } });
  });

  test("held by another run with other arguments, it is refused to the action and nobody is asked", () => {
    const play = working();
    const ask = play.ask("agent", "mail", { intent: ["welcome", "ann"], input: {} });
    const conflict = { answer: "CONFLICT", owner: "r9#4.1", argsHash: "t", asked: "o" } as const;
    play.claimed("mail", conflict, { to: "annie" });
    expect(play.review).toBeNull();
    expect(play.toolAnswer(ask)).toMatchObject({ is: "refused", message: expect.stringContaining('{"to":"annie"}') });
    play.published("mail");
    play.answer("agent", ok());
    play.answer("ship", ok());
    expect(play.status).toBe("completed");
    const unread = working();
    const asked = unread.ask("agent", "mail", { intent: ["welcome", "ann"], input: {} });
    unread.claimed("mail", conflict);
    expect(unread.toolAnswer(asked)).toMatchObject({ message: expect.stringContaining("r9#4.1") });
  });
});

describe("when the run goes back", () => {
  test("tools that happened are undone in reverse, those under way are found out first", () => {
    const play = working({ mail: { effect: "keyed" } });
    play.ask("agent", "mail", to("ann"));
    play.ask("agent", "mail", to("bob"));
    play.answers(["mail", ok("m-1")], ["mail", ok("m-2")]);
    play.answer("agent", ok());
    play.answer("ship", refused());
    expect(play.row("mail", 2).undo?.state).toBe("sent");
    play.answer("undo mail", done);
    play.answer("undo mail", done);
    expect(play).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("an action that asks meanwhile is lost", () => {
    const play = working();
    const ask = play.ask("agent", "mail", to("ann"));
    play.cancel();
    expect(play.aborted).toContain("action:1");
    expect(play.toolAnswer(ask)).toEqual({ is: "lost" });
    play.answer("mail", ok());
    play.answer("undo mail", done);
    expect(play).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("a tool withdrawn by a person's closing is not pending for ever", () => {
    const play = working();
    play.ask("agent", "mail", to("ann"));
    const bob = play.ask("agent", "mail", to("bob"));
    play.answer("mail", timedOut());
    play.verb(close);
    expect(play.status).toBe("failed");
    expect(play.toolAnswer(bob)).toEqual({ is: "lost" });
  });
});

test("an action that the machine leaves takes its tools with it: what they did is undone at once", () => {
  const saga = played(
    {
      initial: "work",
      states: {
        work: { invoke: { src: "agent", onDone: "end" }, on: { STOP: "end" } },
        end: { type: "final" },
      },
    },
    [agentWith({ mail: { effect: "keyed" } })],
    { events: ["STOP"] },
  );
  const play = new Play(saga);
  play.ask("agent", "mail", to("ann"));
  play.answer("mail", ok());
  play.ask("agent", "mail", to("bob"));
  play.event("STOP");
  expect(play.flying()).toContain("undo mail");
  expect(play.run.rows.every((row) => row.abandoned)).toBe(true);
});

test("what a person has mended is the answer to what the action asks, however often it asks it", () => {
  const play = working({ mail: { onExhausted: "review", retry: { attempts: 1 } } });
  play.ask("agent", "mail", to("ann"));
  play.answer("mail", notApplied());
  expect(play.review?.reason).toBe("exhausted");
  for (const input of [{ to: "ann@b.org" }, { to: "ann@c.org" }]) {
    play.verb(retry(input));
    play.answer("mail", input.to === "ann@b.org" ? notApplied() : ok("m-1"));
  }
  const again = play.ask("agent", "mail", to("ann"));
  expect(play.toolAnswer(again)).toEqual({ is: "output", output: { id: "m-1" } });
  const repeated = play.ask("agent", "mail", { ...to("ann"), input: { to: "ann@c.org" } });
  expect(play.toolAnswer(repeated)).toMatchObject({ is: "output" });
  const other = play.ask("agent", "mail", { ...to("ann"), input: { to: "bob" } });
  expect(play.toolAnswer(other)).toMatchObject({ is: "refused" });
  expect(play.ordered).toEqual(["agent", "mail", "mail", "mail"]);
});
