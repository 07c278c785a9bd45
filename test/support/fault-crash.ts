/**
 * One crash: a worker process of its own drives a run and is killed at a planned point, another process takes over, and the
 * world's file says what came of it. Owns that the crash happened exactly as planned, and the evidence it leaves; what
 * the world should have seen is for the test to say.
 */
import { expect } from "vitest";
import type { RunRecord } from "../../src/core/index.ts";
import { type Hit, type Plan, tenant } from "./fault-plan.ts";
import type { FaultProcess } from "./fault-processes.ts";
import type { Count, Room } from "./fault-room.ts";
import type { SagaName } from "./fault-sagas.ts";
import type { Stage } from "./fault-stage.ts";
import { type Exit, waitFor } from "./processes.ts";

export interface CrashOptions {
  /** Becomes the namespace. */
  readonly name: string;
  readonly saga?: SagaName;
  /** Whether the run fails at its end, so that everything is undone. */
  readonly refuse?: boolean;
}

export interface Crashed {
  readonly stage: Stage;
  readonly room: Room;
  readonly victim: FaultProcess;
  readonly exit: Exit;
  /** What was hit: a point of the victim's plan, or a call that the world withheld. */
  readonly where: string;
}

/** A call whose answer the world withholds; its caller is dead. */
export interface HeldCrash extends Crashed {
  /** Lets the world go on with it: what was not applied is applied now. */
  readonly release: () => Promise<void>;
}

/** A room, a worker process that serves it, and the start of the run. */
export async function begin(stage: Stage, { name, saga, refuse }: CrashOptions, plan: Plan | null) {
  const [room, victim] = await Promise.all([stage.room(name), stage.worker(plan)]);
  await victim.serve(name);
  const start = () => room.start(saga ?? "whole", { refuse: refuse ?? false });
  return { stage, room, victim, start };
}

/** A client process starts a run and kills itself on the way. */
export async function crashOfClient(
  stage: Stage,
  { name, saga = "whole" }: CrashOptions,
  plan: Plan,
): Promise<Crashed> {
  const [room, victim] = await Promise.all([stage.room(name), stage.client(plan)]);
  victim.ask({ namespace: name, saga, id: "r1", refuse: false });
  const crashed = await diesByPlan({ stage, room, victim }, plan);
  room.history.push({ op: "start", run: { tenant, id: "r1" }, outcome: "info" }); // it was never answered
  return crashed;
}

/** The worker kills itself where its plan says, having written down where that is. */
export async function crashByPlan(stage: Stage, options: CrashOptions, plan: Plan): Promise<Crashed> {
  const { room, victim, start } = await begin(stage, options, plan);
  await start();
  return await diesByPlan({ stage, room, victim }, plan);
}

/** Waits for the end that was planned, and for nothing else to have been hit. */
export async function diesByPlan(parts: Pick<Crashed, "stage" | "room" | "victim">, plan: Plan): Promise<Crashed> {
  const { victim } = parts;
  const exit = await victim.end();
  const { point, step = null, nth = 1 } = plan;
  const hit: Hit = { pid: victim.pid, point, step, nth, signal: "SIGKILL" };
  expect(victim.hits()).toEqual([hit]);
  expect(exit).toEqual({ code: null, signal: "SIGKILL" });
  return { ...parts, exit, where: `${point}${step === null ? "" : ` of ${step}`}, pass ${nth}` };
}

/** The world withholds the answer of a call, applied or not yet, and the harness kills its caller. */
export async function crashByWorld(
  stage: Stage,
  options: CrashOptions,
  { service, applied }: { readonly service: string; readonly applied: boolean },
): Promise<HeldCrash> {
  const { room, victim, start } = await begin(stage, options, null);
  const operationId = room.operationOf(service);
  const kind = applied ? "apply-then-hang" : "hang-before-apply";
  stage.world.fault({ service, operationId, kind });
  await start();
  const held = await stage.world.nextHeld({ service, operationId });
  expect(held).toMatchObject({ applied, pid: victim.pid, operationId });
  const exit = await victim.child.kill("SIGKILL");
  expect(exit).toEqual({ code: null, signal: "SIGKILL" });
  const release = async () => {
    held.release();
    await new Promise((resolve) => setImmediate(resolve)); // it is applied before this turn of the loop is over
  };
  return {
    stage,
    room,
    victim,
    exit,
    where: `${service} withheld by the world, ${applied ? "" : "not yet "}applied`,
    release,
  };
}

/** Another process takes over until the run has come to rest. */
export async function rescue({ stage, room }: Crashed): Promise<RunRecord> {
  const rescuer = await stage.rescuer();
  await rescuer.serve(room.namespace);
  return await room.rest();
}

/** Says of a run that did not end as it should what there is to know. */
export async function toldOf(room: Room, id = "r1"): Promise<string> {
  const [{ status, cause, review, rollback }, counts, rows] = await Promise.all([
    room.record(id),
    room.counts(id),
    room.rows(id),
  ]);
  const calls = rows.map(({ step, call, undo }) => ({ step, call: call.state, error: call.error, undo: undo?.state }));
  return JSON.stringify({ status, cause, review, rollback, counts, calls }, null, 1);
}

export interface Outcome {
  readonly record: RunRecord;
  readonly counts: Readonly<Record<string, Count>>;
}

/**
 * The end of it all: another process ended the run (unless the victim had just ended it), the three witnesses agree, and
 * evidence is left for the ids.
 */
export async function prove(
  ids: string | readonly string[],
  crashed: Crashed,
  { endedByVictim = false } = {},
): Promise<Outcome> {
  const { stage, room, victim, exit, where } = crashed;
  const [record, log, counts] = await Promise.all([room.record(), room.log(), room.counts()]);
  const rescuer = await stage.rescuer();
  const endedBy = stage.pidOf.get(log.at(-1)?.actor ?? "");
  expect([endedBy, rescuer.pid === victim.pid]).toEqual([endedByVictim ? victim.pid : rescuer.pid, false]);
  await room.prove(ids, {
    killed: [{ pid: victim.pid, signal: String(exit.signal) }],
    checks: [where, `moved last by pid ${endedBy}: ${record.status}`],
  });
  stage.leaveWhenDrained(room);
  return { record, counts };
}

/** Waits until the world was asked about an operation. */
export async function asked(room: Room, service: string): Promise<void> {
  await waitFor(async () => (await room.counts())[service]?.queries, {
    timeoutMs: 30_000,
    what: `${service} to be asked about in ${room.namespace}`,
  });
}
