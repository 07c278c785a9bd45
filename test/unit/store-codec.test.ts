/** The stored forms. What is golden here lies in people's Redis: a change of it needs a new format. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call, LogEntry, Row, RunRecord, Taken } from "../../src/core/index.ts";
import type { Json } from "../../src/saga/index.ts";
import {
  decodeEntry,
  decodeLog,
  decodePermit,
  decodeRecord,
  decodeRow,
  encodeCommitted,
  encodeEntry,
  encodeLogEntry,
  encodeRecord,
  encodeRow,
} from "../../src/store/codec.ts";
import { aCall, aLogEntry, anOfferedRow, anOfferedUndo, aRecord, aRow } from "../support/records.ts";

const run = { tenant: "acme", id: "o-1" };
const at = 1_767_225_600_000;

describe("a record", () => {
  test("that has just been created is little more than its input", () => {
    const record = aRecord({ ...run, input: { sku: "A" } });
    expect(encodeRecord(record)).toEqual({
      text: `{"n":"order","v":1,"h":"hash-of-order","i":{"sku":"A"},"ih":"hash-of-input","t":${at},"d":"digest-1"}`,
      revision: 1,
      status: "r",
      pool: null,
      priority: null,
      outputs: [],
    });
  });

  test("in full", () => {
    const record = fullRecord();
    const stored = encodeRecord(record);
    expect(JSON.parse(stored.text)).toEqual({
      n: "order",
      v: 3,
      h: "hash",
      i: { sku: "A" },
      ih: "input",
      rb: "pending",
      ca: record.cause,
      o: { ok: true },
      s: { v: { a: "b" }, c: { n: 1 }, s: "error", o: { ok: 1 }, h: { "m.h": ["m.a"] }, or: ["m", "m.a"], ra: 2 },
      rw: 4,
      op: [2, 4],
      re: { left: 2 },
      tm: record.timers,
      wf: "timer",
      rv: record.review,
      rn: 2,
      cn: record.cancel,
      pa: true,
      uw: record.unwind,
      ir: 1,
      se: 7,
      at: { customer: "c" },
      t: at,
      ts: at + 5,
      te: at + 9,
      pr: record.parent,
      lm: record.limit,
      bu: record.budgets,
      dl: at + 7,
      mg: record.migratedFrom,
      as: [2],
      lf: 4,
      lk: 6,
      kt: { at: at + 3, revision: 7, as: 8 },
      d: "digest",
    });
    expect([stored.revision, stored.status, stored.pool, stored.priority]).toEqual([9, "n", "gpu", 3]);
    expect(decodeRecord(run, stored)).toStrictEqual(record);
  });

  test("of a run that has a turn keeps the number under which it asked, and reads one from before there were numbers", () => {
    const limit = { key: "c1", limit: 2, state: "mine", askAt: null } as const;
    const numbered = aRecord({ ...run, limit: { ...limit, asked: 7 } });
    const stored = encodeRecord(numbered);
    expect(decodeRecord(run, stored)).toStrictEqual(numbered);
    const older = { ...stored, text: stored.text.replace(',"asked":7', "") };
    expect(older.text).not.toBe(stored.text);
    expect(decodeRecord(run, older)).toStrictEqual(aRecord({ ...run, limit }));
  });

  test("of an ended run hands its output over part by part, and reads it from the ledger again", () => {
    const text = "x".repeat(200);
    const output = { reserve: { text }, note: "short" };
    const record = aRecord({ ...run, status: "completed", output, snapshot: state({ status: "done", output }) });
    const stored = encodeCommitted(record);
    expect(stored.text).not.toContain(text);
    expect(stored.outputs).toEqual(['"reserve"', JSON.stringify({ text }), '"note"', '"short"']);
    const referring = { ...stored, text: `${stored.text}\n[["reserve",2],["note",0,"short"]]` };
    expect(decodeRecord(run, referring, (seq) => (seq === 2 ? { text } : null))).toStrictEqual(record);
    expect(decodeRecord(run, referring).output).toEqual({ reserve: null, note: "short" });
  });

  test("of a run that goes on, or whose output is small or no object, is one text", () => {
    const large = { a: "x".repeat(200) };
    expect(encodeCommitted(aRecord({ output: large })).outputs).toEqual([]);
    for (const output of [null, 1, "x".repeat(200), ["x".repeat(200)], {}, { a: 1 }]) {
      const stored = encodeCommitted(aRecord({ ...run, status: "completed", output }));
      expect(stored.outputs).toEqual([]);
      expect(decodeRecord(run, stored).output).toEqual(output);
    }
  });

  test("comes back as it went, whatever its JSON is", () => {
    fc.assert(
      fc.property(json, json, fc.constantFrom("waiting", "completed"), (input, output, status) => {
        const record = aRecord({ ...run, input, output, status: status as RunRecord["status"] });
        expect(decodeRecord(run, encodeRecord(record))).toStrictEqual(record);
      }),
    );
  });

  test("that cannot be read is RECORD_CORRUPT and names the run", () => {
    const { text: _, ...fields } = encodeRecord(aRecord(run));
    for (const text of ["", "{", "[]", "null", "{}", '{"n":"order","F":2}']) {
      expect(() => decodeRecord(run, { ...fields, text })).toThrow(/acme:o-1/);
    }
    expect(() => decodeRecord(run, { ...encodeRecord(aRecord(run)), status: "?" })).toThrow(/"\?" stands for none/);
    expect(() => decodeRecord(run, { ...encodeRecord(aRecord(run)), text: '{"F":2}' })).toThrow(/format 2/);
  });
});

describe("a row", () => {
  const sent: Partial<Call> = {
    state: "sent",
    attempt: 1,
    send: 1,
    firstSentAt: at,
    firstSentRevision: 2,
    sentAt: at,
    deadline: at + 93_000,
    fence: 1,
  };

  test("that is sent, and one that has succeeded", () => {
    const row = aRow(1, sent, { step: "chargeCard", invoke: "0.order.chargeCard", input: { cents: 1 } });
    expect(encodeRow(row)).toBe(
      `{"n":"chargeCard","v":"0.order.*","i":{"cents":1},"c":{"s":"s","t":${at},"r":2,"d":93000,"f":1,"p":""},"to":""}`,
    );
    const settled = { ...sent, state: "succeeded", proof: "answer", deadline: null, fence: null } as const;
    const done = aRow(1, settled, { step: "pay", invoke: "pay", told: "outcome", output: { id: "ch-1" } });
    expect(encodeRow(done)).toBe(`{"n":"pay","i":{"sku":"A"},"c":{"t":${at},"r":2},"o":{"id":"ch-1"}}`);
    for (const each of [row, done]) expect(decodeRow(run, 1, encodeRow(each))).toStrictEqual(each);
  });

  test("that is offered begins with its send and side", () => {
    expect(encodeRow(anOfferedRow(1, 3))).toMatch(/^3a;\{/);
    expect(encodeRow(anOfferedUndo(1, 2))).toMatch(/^2u;\{/);
    for (const row of [anOfferedRow(1, 3), anOfferedUndo(1)]) {
      expect(decodeRow(run, 1, encodeRow(row))).toStrictEqual(row);
    }
  });

  test("comes back as it went, in every field", () => {
    const full: Row = {
      seq: 4,
      kind: "approval",
      step: "ask",
      occurrence: 2,
      invoke: "custom*",
      region: ["m.left"],
      regionEntry: 3,
      input: [1],
      call: fullCall(),
      output: { a: null },
      progress: { at: 451 },
      intent: { key: ["a"], state: "busy", claim: 2, owner: "b#1.1", theirs: null, since: 3, said: "withdrawn" },
      tool: { parent: 1, match: "m", asks: 2 },
      unusable: true,
      abandoned: true,
      told: "outcome",
      undo: { state: "halted", call: aCall({ effect: "once", state: "unknown" }), reason: "because", input: null },
      reference: "T-1",
      approval: {
        state: "approved",
        n: 2,
        question: "Pay?",
        shown: "digest",
        rule: "above 500",
        requester: "bob",
        roles: ["finance"],
        delegates: ["eve"],
        quorum: 2,
        allowed: ["approve", "reject"],
        since: at,
        expiresAt: at + 1,
        onExpire: "reject",
        escalations: [{ at, to: ["cfo"] }],
        votes: [{ by: "ann", at, decision: "edit", reason: null, input: [2], form: { note: "x" } }],
        talk: [{ is: "question", by: "ann", at, text: "why?" }],
      },
      child: { run: "r.4", status: "completed", rollback: "none", revision: 7, why: null },
      dueBy: at + 2,
    };
    expect(decodeRow(run, 4, encodeRow(full))).toStrictEqual(full);
    expect(decodeRow(run, 2, encodeRow(aRow(2)))).toStrictEqual(aRow(2));
  });

  test("keeps any invoke id apart from its step's name", () => {
    fc.assert(
      fc.property(fc.constantFrom("a", "ask", "*", "!"), fc.string(), (step, invoke) => {
        const row = aRow(1, {}, { step, invoke });
        expect(decodeRow(run, 1, encodeRow(row)).invoke).toBe(invoke);
      }),
    );
  });

  test("that cannot be read is RECORD_CORRUPT and says which", () => {
    expect(() => decodeRow(run, 3, '{"n":"pay"}')).toThrow(
      "ledger row 3 of run acme:o-1 cannot be read: it has no call",
    );
    expect(() => decodeRow(run, 3, '{"n":"pay","c":{"s":"?"}}')).toThrow(/stands for none/);
  });
});

describe("the log", () => {
  const taken: readonly Taken[] = [
    { what: "outcome", seq: 1, send: 2, outcome: "succeeded", proof: "answer" },
    { what: "told", seq: 2, failure: null },
    { what: "sent", seq: 2 },
  ];

  test("of a step that succeeded and the next that was sent is short, and leaves its owner out", () => {
    const entry: LogEntry = aLogEntry(3, { taken, fence: 1, digest: "d" });
    expect(encodeLogEntry(entry, "worker-1")).toBe(`{"t":${at + 3},"k":"=1.2ka m2 s2","n":1,"d":"d"}`);
    expect(encodeLogEntry(entry, "another")).toContain('"a":"worker-1"');
  });

  test("finds the owner with the first entry of its fence", () => {
    const entries = [
      aLogEntry(1, { actor: "client" }),
      aLogEntry(2, { actor: "w-1", fence: 1 }),
      aLogEntry(3, { actor: "w-1", fence: 1 }),
      aLogEntry(4, { actor: "Ann", fence: 2 }),
      aLogEntry(5, { actor: "w-2", fence: 2 }),
    ];
    const owners = [null, "w-1", "w-1", "w-2", "w-2"];
    const plain = entries.map((entry, n) => encodeLogEntry(entry, owners[n] ?? null));
    const stored = plain.map((text, n) => ([1, 3].includes(n) ? `{"o":"${owners[n]}",${text.slice(1)}` : text));
    expect(decodeLog(run, 1, stored, true)).toStrictEqual(entries);
    expect(decodeLog(run, 2, stored.slice(1), false)).toStrictEqual(entries.slice(1));
    expect(decodeLog(run, 3, stored.slice(2), false)).toBeNull();
    expect(() => decodeLog(run, 1, plain.slice(1), true)).toThrow(/log entry 1 of run acme:o-1 .* nobody is named/);
  });

  test("comes back as it went, whatever was taken", () => {
    const all: readonly Taken[] = [
      { what: "created" },
      { what: "begun", note: "with blanks: and colons" },
      { what: "parked", note: "" },
      { what: "ended", note: "completed" },
      ...taken,
      { what: "taken_back", seq: 12 },
      { what: "interrupted", seq: 3 },
      { what: "probed", seq: 1, answer: "absent" },
      { what: "undo", seq: 1, state: "owed", note: "n" },
      { what: "timer", id: "t" },
      { what: "event", id: "e", type: "E", payload: [1], forbidden: true },
      { what: "verb", verb: "close", review: 1, by: "Ann", payload: null },
      { what: "control", control: "pause", by: "Ann", reason: "r" },
      { what: "late", seq: 1, send: 1, outcome: "succeeded" },
      { what: "control", control: "undo", by: "Ann", reason: "r", despitePivot: true },
      { what: "unconsumed", slot: "event:1" },
      { what: "discarded", slot: "event:2" },
    ];
    for (const each of [[], all, ...all.map((one) => [one])]) {
      const entry = aLogEntry(1, { taken: each, from: "waiting", to: "needs_review" });
      expect(decodeLog(run, 1, [encodeLogEntry(entry, null)], true)).toStrictEqual([entry]);
    }
  });
});

describe("an inbox entry and a permit", () => {
  test("are lines, of which the scripts read the first ones", () => {
    const entry = { commandId: 'c"\n1', by: "Ann\nB", body: { type: "cancel", mode: "stop", reason: "a\nb" } } as const;
    const { commandId, rest } = encodeEntry(entry);
    const stored = `7 ${at}\n${commandId}\n${rest}`;
    expect(stored.split("\n")).toHaveLength(4);
    expect(decodeEntry(run, "cancel", stored)).toEqual({ slot: "cancel", position: 7, at, ...entry });
    expect(() => decodeEntry(run, "cancel", "7")).toThrow("inbox slot cancel of run acme:o-1 cannot be read");
  });

  test("a permit tells whether it has run out", () => {
    const stored = `2u ${at + 10} ${at} ${at + 99} 0\n"token"\n"gpu 1"`;
    const permit = { seq: 3, send: 2, side: "undo", token: "token", owner: "gpu 1" };
    const times = { until: at + 10, sentAt: at, deadline: at + 99 };
    expect(decodePermit(run, 3, stored, at + 9)).toEqual({ ...permit, ...times, expired: false });
    expect(decodePermit(run, 3, stored, at + 10)).toMatchObject({ expired: true });
    expect(() => decodePermit(run, 3, "x", at)).toThrow(/permit of row 3 of run acme:o-1/);
  });
});

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);

function state(patch: Partial<NonNullable<RunRecord["snapshot"]>>): NonNullable<RunRecord["snapshot"]> {
  return { value: "done", context: null, status: "active", ...patch };
}

function fullCall(): Call {
  return {
    state: "unknown",
    attempt: 3,
    send: 5,
    effect: "once",
    firstSentAt: at,
    firstSentRevision: 2,
    sentAt: at + 50,
    deadline: at + 100,
    fence: 4,
    nextAt: at + 60,
    doubtUntil: at + 70,
    senders: [{ send: 4, owner: "w-1" }],
    interruptions: 2,
    probes: 1,
    probeAt: at + 80,
    error: { kind: "timeout", code: "E", message: "m", attempts: 3 },
    proof: "probe",
    evidence: { x: 1 },
    generation: 2,
  };
}

function fullRecord(): RunRecord {
  return aRecord({
    ...run,
    version: 3,
    hash: "hash",
    inputHash: "input",
    pool: "gpu",
    priority: 3,
    revision: 9,
    status: "needs_review",
    rollback: "pending",
    cause: { kind: "step_failed", step: "pay", message: "m", reference: null },
    snapshot: {
      value: { a: "b" },
      context: { n: 1 },
      status: "error",
      output: { ok: 1 },
      history: { "m.h": ["m.a"] },
      order: ["m", "m.a"],
      raises: 2,
    },
    output: { ok: true },
    rows: 4,
    open: [2, 4],
    asks: [2],
    regionEntries: { left: 2 },
    timers: [{ id: "t", at, event: { type: "E" } }],
    waitingFor: "timer",
    review: {
      n: 2,
      reason: "poison",
      message: "m",
      seq: 1,
      side: "undo",
      event: "e-1",
      since: at,
      evidence: null,
      verbs: ["retry", "close"],
    },
    reviews: 2,
    cancel: { mode: "stop", reason: "r", by: "Ann", at },
    paused: true,
    unwind: {
      cause: { kind: "cancelled", step: null, message: "m", reference: "r" },
      at,
      quiesceUntil: at,
      ends: "failed",
      despitePivot: true,
    },
    interruptions: 1,
    seen: 7,
    attributes: { customer: "c" },
    startAt: at + 5,
    endedAt: at + 9,
    parent: { run: "p-1", seq: 3, detached: true },
    limit: { key: "c", limit: 1, state: "waiting", askAt: at },
    budgets: { money: { used: 1, soft: 2, hard: 3, warned: true } },
    deadlineAt: at + 7,
    migratedFrom: { version: 2, hash: "older", revision: 5, snapshot: null },
    logFrom: 4,
    logMark: 6,
    knownTo: { at: at + 3, revision: 7, as: 8 },
    logDigest: "digest",
  });
}
