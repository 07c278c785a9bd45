/**
 * Bugs that engines like this one have had, each as a patch of a copy. `main.ts` plants one at a time and demands that a
 * file which claims it turns red.
 */

export interface PlantedBug {
  readonly name: string;
  /** What would be paid for it. */
  readonly harm: string;
  readonly changes: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
  /** Test files that claim to find it, most likely first. */
  readonly claimed: readonly string[];
}

const seeds = "test/simulation/seeds.test.ts";
const lostReplies = "test/simulation/lost-replies.test.ts";
const contract = "test/contract/store.memory.test.ts";
const queues = "test/integration/scenarios-queue.test.ts";
const page = "test/integration/decision-page.test.ts";
const leases = "test/unit/engine/lease.test.ts";
const served = "test/unit/core-pinned.test.ts";
const outcomes = "test/unit/engine/outcome.test.ts";
const claims = "test/unit/core-claims.test.ts";
const intents = "test/unit/core-intent-properties.test.ts";
const tools = "test/unit/core-tools.test.ts";
const worlds = "test/unit/engine/worlds.test.ts";
const rollbacks = "test/unit/core-rollback.test.ts";
const courses = "test/unit/core-rollback-properties.test.ts";
const senders = "test/unit/core-senders.test.ts";
const turns = "test/unit/core-limits.test.ts";

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "ack-before-commit",
    harm: "a call is made although its intent was never kept",
    changes: [
      {
        file: "src/engine/advance.ts",
        find: 'return untilAnswered(this.#context, "commit", () => store.commit(command));',
        replace: `void untilAnswered(this.#context, "commit", () => store.commit(command));
    return Promise.resolve({ answer: { answer: "OK", inbox: [], now: this.#time.now() }, resent: false });`,
      },
    ],
    claimed: [seeds],
  },
  {
    name: "intent-after-call",
    harm: "a crash during the call leaves no trace of it",
    changes: [
      {
        file: "src/engine/advance.ts",
        find: "const sent = commit === null ? null : await this.#send(commit);",
        replace:
          "this.#calls.begin(decision, this.#context.clock.monotonicMs(), null); const sent = commit === null ? null : await this.#send(commit);",
      },
      {
        file: "src/engine/advance.ts",
        find: "this.#calls.begin(decision, written.grantedAt, this.#objection(written.inbox));",
        replace: "",
      },
    ],
    claimed: [seeds],
  },
  {
    name: "no-fence",
    harm: "a worker that lost the run goes on writing it",
    changes: [
      {
        file: "src/store/memory/moves.ts",
        find: 'if (cell.lease?.token !== lease.token || cell.fence !== lease.fence) return { answer: "FENCED" };\n  if (cell.run',
        replace: "if (cell.run",
      },
      {
        file: "src/store/lua/commit.lua",
        find: "if f[3] ~= token or f[2] ~= fence then return { 'FENCED', now } end",
        replace: "",
      },
    ],
    claimed: [contract, seeds],
  },
  {
    name: "no-revision",
    harm: "two histories of one run",
    changes: [
      {
        file: "src/store/memory/moves.ts",
        find: 'if (cell.run.record.revision !== next.expects) return { answer: "STALE" };',
        replace: "",
      },
      {
        file: "src/store/lua/commit.lua",
        find: "if f[1] ~= expects then return { 'STALE', now } end",
        replace: "",
      },
    ],
    claimed: [contract, seeds],
  },
  {
    name: "resend-without-commit-id",
    harm: "a commit whose answer was lost is taken for somebody else's",
    changes: [
      {
        file: "src/engine/advance.ts",
        find: '"commit", () => store.commit(command));',
        replace:
          '"commit", () => store.commit({ ...command, commit: { ...commit, commitId: this.#context.ids.next() } }));',
      },
    ],
    claimed: [lostReplies],
  },
  {
    name: "wake-up-outside-the-script",
    harm: "a client that dies after create leaves a run that nobody looks at",
    changes: [
      {
        file: "src/store/memory/moves.ts",
        find: 'return { answer: "OK", wake: handOut(shard, cell, now) };\n}\n\nfunction createdBefore',
        replace:
          'const wake = handOut(shard, cell, now);\n  shard.due.delete(member);\n  return { answer: "OK", wake };\n}\n\nfunction createdBefore',
      },
    ],
    claimed: [seeds],
  },
  {
    name: "retry-of-once",
    harm: "an effect that nothing protects is made twice",
    changes: [
      {
        file: "src/core/rows.ts",
        find: 'case "once":\n      return false;',
        replace: 'case "once":\n      return true;',
      },
    ],
    claimed: [seeds],
  },
  {
    name: "unwind-forward",
    harm: "the stock is released before the card is refunded",
    changes: [
      {
        file: "src/core/unwind/unwind-order.ts",
        find: "return sent.sort((a, b) => revisionOf(b) - revisionOf(a) || b.seq - a.seq);",
        replace: "return sent.sort((a, b) => revisionOf(a) - revisionOf(b) || a.seq - b.seq);",
      },
    ],
    claimed: [seeds],
  },
  {
    name: "absent-before-the-deadline",
    harm: "the first request lands after the probe has said that there is none",
    changes: [{ file: "src/core/calls/find-out.ts", find: "asked >= deadline", replace: "asked >= 0" }],
    claimed: [seeds],
  },
  {
    name: "row-settled-by-invoke-id",
    harm: "a late answer to an earlier turn of a loop is taken for the present one's",
    changes: [
      {
        file: "src/core/calls/settle.ts",
        find: "export function settle(draft: Draft, word: Word): void {",
        replace: `export function settle(draft: Draft, given: Word): void {
  const told = draft.rows[given.seq - 1];
  const newest = draft.rows.findLast((other) => other.invoke === told?.invoke);
  const word = newest === undefined ? given : { ...given, seq: newest.seq, send: callOf(newest, given.side)?.send ?? 0 };`,
      },
    ],
    claimed: [seeds],
  },
  {
    name: "sent-before-the-claim",
    harm: "two runs make the effect that one intent stands for",
    changes: [
      {
        file: "src/core/calls/grant.ts",
        find: 'if (side === "action" && needsClaim(row)) return claim(draft, row);',
        replace: "if (needsClaim(row) && draft.rows.length === 0) return claim(draft, row);",
      },
    ],
    claimed: [intents],
  },
  {
    name: "freed-while-a-person-is-asked",
    harm: "another run makes an effect that a person then has made here as well",
    changes: [
      {
        file: "src/core/rows.ts",
        find: "return told === null && !abandoned ? null : call.state;",
        replace: "return abandoned || told !== undefined ? call.state : null;",
      },
    ],
    claimed: [claims],
  },
  {
    name: "tool-known-by-its-place",
    harm: "an agent that is made again pays again",
    changes: [
      {
        file: "src/core/calls/tools.ts",
        find: "const match = matchOf(step, ask);",
        replace: "const match = matchOf(step, { ...ask, key: [ask.send, ask.key], intent: null });",
      },
    ],
    claimed: [tools],
  },
  {
    name: "job-id-retained",
    harm: "a wake-up is taken for one that was there before, and the run sleeps for ever",
    changes: [
      { file: "src/queue/bullmq-queue.ts", find: "removeOnComplete: true, ", replace: "removeOnComplete: false, " },
      {
        file: "src/queue/jobs.ts",
        find: "wakeUp.wake}`;",
        replace: "1}`;",
      },
      {
        file: "src/testing/memory-queue.ts",
        find: "{wake}`;",
        replace: "{1}`;",
      },
      { file: "src/testing/memory-queue.ts", find: "    this.#ids.delete(job.id);\n", replace: "" },
    ],
    claimed: [seeds, queues],
  },
  {
    name: "state-in-job-data",
    harm: "what a job carries is believed, whoever has written it there and whenever",
    changes: [
      {
        file: "src/queue/bullmq-queue.ts",
        find: 'nudge("wake", wakeJobId(wakeUp), wakeUp.priority)',
        replace: '{ ...nudge("wake", wakeJobId(wakeUp), wakeUp.priority), data: { run: wakeUp.run } }',
      },
      {
        file: "src/queue/consumer.ts",
        find: "const run = parseWakeJob(job.id);",
        replace: "const { run } = job.data;",
      },
    ],
    claimed: [queues],
  },
  {
    name: "lease-by-wall-clock",
    harm: "a worker whose clock is ahead trusts a lease that it has lost",
    changes: [
      {
        file: "src/engine/lease.ts",
        find: "const sentAt = clock.monotonicMs();",
        replace: "const sentAt = Date.now();",
      },
    ],
    claimed: [leases, seeds],
  },
  {
    name: "fence-reset",
    harm: "a worker that was fenced out long ago is the holder again",
    changes: [
      {
        file: "src/store/memory/moves.ts",
        find: "  cell.fence += 1;",
        replace: "  cell.fence = cell.lease === null ? 1 : cell.fence + 1;",
      },
      {
        file: "src/store/lua/acquire.lua",
        find: "call('HINCRBY', run, 'f', 1)",
        replace: "if holder then call('HINCRBY', run, 'f', 1) else call('HSET', run, 'f', 1) end",
      },
    ],
    claimed: [seeds, contract],
  },
  {
    name: "undo-registered-after-the-call",
    harm: "an effect whose answer was lost is not undone: nothing had said yet how",
    changes: [
      {
        file: "src/core/calls/owed.ts",
        find: "export function fateOfUnknown(row: Row, step: StepSpec, now: number): Fate {",
        replace:
          'export function fateOfUnknown(row: Row, step: StepSpec, now: number): Fate {\n  if (row.call.state === "unknown") return "stays";',
      },
    ],
    claimed: [seeds],
  },
  {
    name: "failing-step-not-undone",
    harm: "the step that failed half-way keeps what it did",
    changes: [
      {
        file: "src/core/unwind/unwind-order.ts",
        find: "rows.filter(({ call }) => call.firstSentRevision !== null)",
        replace: "rows.filter(({ call }) => call.firstSentRevision !== null && call.error === null)",
      },
    ],
    claimed: [seeds],
  },
  {
    name: "approval-read-then-write",
    harm: "two people are both told that theirs is the decision",
    changes: [
      {
        file: "src/store/memory/inbox.ts",
        find: "for (const taken of [slot, ...rivalsOf(slot)]) {",
        replace: 'for (const taken of slot.startsWith("approval:") ? [] : [slot, ...rivalsOf(slot)]) {',
      },
      {
        file: "src/store/lua/send.lua",
        find: "if winner then return { 'TAKEN', now, winner, slot } end",
        replace: "if winner and not slot:find('^approval:') then return { 'TAKEN', now, winner, slot } end",
      },
    ],
    claimed: [seeds],
  },
  {
    name: "get-approves",
    harm: "a mail scanner that follows links approves payments",
    changes: [
      {
        file: "src/page/decision-page.ts",
        find: "      return await show(client, token);",
        replace: '      await client.decideByToken(token, { is: "approve" });\n      return await show(client, token);',
      },
    ],
    claimed: [page],
  },
  {
    name: "timer-without-state-check",
    harm: "a timer of a state that was left long ago moves the machine",
    changes: [
      {
        file: "src/core/turn.ts",
        find: "      draft.record.timers = draft.record.timers.filter((timer) => timer.id !== effect.id);\n",
        replace: "",
      },
    ],
    claimed: [
      seeds,
      "test/unit/core-controls.test.ts",
      "test/unit/core-properties.test.ts",
      "test/unit/engine/timers.test.ts",
    ],
  },
  {
    name: "unknown-version-served",
    harm: "a run goes on in a machine that it was not started with",
    changes: [
      {
        file: "src/core/change/pinned.ts",
        find: "found !== undefined && structureHashOf(found) === hash ?",
        replace: "found !== undefined ?",
      },
    ],
    claimed: [served],
  },
  {
    name: "secret-in-error",
    harm: "a password that stood in an error is stored and shown",
    changes: [
      {
        file: "src/redact.ts",
        find: "for (const [pattern, replacement] of rules) shown =",
        replace: "for (const [pattern, replacement] of []) shown =",
      },
    ],
    claimed: [outcomes],
  },
  {
    name: "unknown-is-not-done",
    harm: "what was not answered is taken for not done: done again, or never undone",
    changes: [
      {
        file: "src/core/calls/outcome.ts",
        find: 'if (result.kind === "not_applied" || classAt(draft, place) === "none") return notApplied(',
        replace: "if (result !== null) return notApplied(",
      },
    ],
    claimed: [seeds],
  },
  {
    name: "drives-in-a-new-world",
    harm: "after a fail-over a run is driven from where the new primary has it, though another worker knows it further",
    changes: [
      {
        file: "src/engine/worlds.ts",
        find: "return !this.#isLooking && this.#waitsUntil === null && this.#asked === this.#world;",
        replace: "return true;",
      },
    ],
    claimed: [worlds],
  },
  {
    name: "revision-given-twice",
    harm: "undos go in another order than the effects, and two notices have one id",
    changes: [
      {
        file: "src/core/change/rollback.ts",
        find: "draft.revision = Math.max(stored, known.revision) + 1;",
        replace: "draft.revision = stored + 1;",
      },
    ],
    claimed: [rollbacks],
  },
  {
    name: "first-to-look-is-right",
    harm: "what a second worker remembers of a run that its store has forgotten is lost, and a call is made twice",
    changes: [
      {
        file: "src/core/change/rollback.ts",
        find: "return knownTo !== null && at <= knownTo.at && revision <= knownTo.revision;",
        replace: "return knownTo !== null;",
      },
    ],
    claimed: [courses, rollbacks],
  },
  {
    name: "other-course-written-over",
    harm: "what was undone since the store has forgotten a run is undone once more",
    changes: [
      {
        file: "src/core/change/two-courses.ts",
        find: "undo: bothUndone(row, twin),",
        replace: "undo: row.undo,",
      },
    ],
    claimed: [rollbacks, courses],
  },
  {
    name: "frozen-is-gone",
    harm: "a worker that was frozen makes a call when it wakes up that another one has made meanwhile",
    changes: [
      {
        file: "src/core/calls/find-out.ts",
        find: 'if (answer === "absent" && asked >= deadline && !isHeld) return',
        replace: 'if (answer === "absent" && asked >= deadline) return',
      },
    ],
    claimed: [senders],
  },
  {
    name: "turn-of-another-world",
    harm: "two runs have a turn at once after a fail-over",
    changes: [
      {
        file: "src/core/company/limits.ts",
        find: 'return limit?.state === "mine" ? (limit.asked ?? null) : revision;',
        replace: "return null;",
      },
    ],
    claimed: [turns],
  },
];
