/** Every command that has the shape of `base/command.ts`, in the order of the help, and what their groups are. */

import { approve, reject, respond } from "./approvals/decide.ts";
import { approvalsList, approvalsShow } from "./approvals/list.ts";
import type { AnyCommand } from "./base/command.ts";
import { checkCommand } from "./check.ts";
import { devCommand } from "./dev/command.ts";
import { diagramCommand } from "./diagram/command.ts";
import { dlqDiscard } from "./dlq/discard.ts";
import { dlqGroups, dlqList } from "./dlq/list.ts";
import { dlqShow } from "./dlq/show.ts";
import { effectsProbe, effectsResolve } from "./effects/acts.ts";
import { effectsList, effectsShow } from "./effects/list.ts";
import { healthCommand } from "./health.ts";
import { initCommand, newSaga } from "./init/commands.ts";
import { lintCommand } from "./lint.ts";
import { notificationsList } from "./notifications/list.ts";
import { auditCommand } from "./ops/audit.ts";
import { batchList, batchShow } from "./ops/batch.ts";
import { completionOf } from "./ops/completion.ts";
import { doctorCommand } from "./ops/doctor.ts";
import { gcCommand } from "./ops/gc.ts";
import { migrateCommand } from "./ops/migrate.ts";
import { schedulesList, schedulesPause, schedulesResume, schedulesRunNow, schedulesShow } from "./ops/schedules.ts";
import { sloCommand } from "./ops/slo.ts";
import { batchResume, batchSuspend } from "./ops/suspend.ts";
import { replayPlan } from "./replay/plan.ts";
import { replayRun } from "./replay/run.ts";
import { runsCancel, runsPause, runsResume } from "./runs/acts.ts";
import { runsBundle } from "./runs/bundle.ts";
import { runsHistory } from "./runs/history.ts";
import { runsKill } from "./runs/kill.ts";
import { runsList } from "./runs/list.ts";
import { runsLogs } from "./runs/logs.ts";
import { runsProbe } from "./runs/probe.ts";
import { runsShow } from "./runs/show.ts";
import { runsSignal } from "./runs/signal.ts";
import { runsStart } from "./runs/start.ts";
import { runsTimeline } from "./runs/timeline.ts";
import { runsDiscardEvent, runsRaise, runsRewind, runsSkip } from "./runs/verbs.ts";
import { runsWatch } from "./runs/watch.ts";
import { diffCommand } from "./sagas/diff.ts";
import { sagasList } from "./sagas/list.ts";
import { schemaCommand } from "./sagas/schema.ts";
import { sagasShow } from "./sagas/show.ts";
import { simulateCommand } from "./sagas/simulate.ts";
import { topCommand } from "./top/command.ts";
import { versionCommand } from "./version.ts";
import { workersDrain } from "./workers/drain.ts";
import { workersList } from "./workers/list.ts";
import { supervisorCommand } from "./workers/supervisor.ts";
import { workerCommand } from "./workers/worker.ts";

export const groups: ReadonlyMap<string, string> = new Map([
  ["runs", "Start runs, look at them, ask things of them"],
  ["approvals", "What runs ask people"],
  ["dlq", "Dead letters: runs that are parked for a person"],
  ["replay", "Plans of what replaying would do, and their execution"],
  ["sagas", "Sagas and their versions: of this project, and as they are registered"],
  ["new", "Add to this project"],
  ["schedules", "Runs that are started by the clock"],
  ["batch", "Frozen selections of runs, and what came of each"],
  ["effects", "What was tried outside, and what is known of it"],
  ["notifications", "What webhooks are told of runs"],
  ["workers", "The workers of a namespace"],
]);

export const commands: readonly AnyCommand[] = [
  ...[runsStart, runsList, runsShow, runsWatch, runsTimeline, runsHistory, runsLogs, runsBundle],
  ...[runsSignal, runsCancel, runsKill, runsPause, runsResume, runsProbe],
  ...[runsSkip, runsRaise, runsRewind, runsDiscardEvent],
  ...[approvalsList, approvalsShow, approve, reject, respond],
  ...[dlqList, dlqGroups, dlqShow, dlqDiscard, replayPlan, replayRun],
  ...[effectsList, effectsShow, effectsProbe, effectsResolve],
  ...[initCommand, newSaga],
  ...[sagasList, sagasShow, lintCommand, checkCommand, diffCommand, schemaCommand, diagramCommand, simulateCommand],
  ...[schedulesList, schedulesShow, schedulesPause, schedulesResume, schedulesRunNow],
  ...[
    healthCommand,
    doctorCommand,
    sloCommand,
    batchList,
    batchShow,
    batchSuspend,
    batchResume,
    auditCommand,
    notificationsList,
    migrateCommand,
    gcCommand,
    completionOf(() => commands),
  ],
  ...[devCommand, topCommand, workerCommand, workersList, workersDrain, supervisorCommand],
  versionCommand,
];
