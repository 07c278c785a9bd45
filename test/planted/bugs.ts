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
const claims = "test/unit/core-claims.test.ts";
const intents = "test/unit/core-intent-properties.test.ts";
const tools = "test/unit/core-tools.test.ts";

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
        find: "const written = await this.#write(decision);",
        replace:
          "this.#calls.begin(decision, this.#context.clock.monotonicMs(), null); const written = await this.#write(decision);",
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
];
