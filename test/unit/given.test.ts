/** One decision at a time, as a pure function: given what has happened, when that happens, then so it stands. */
import { AssertionError } from "node:assert";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { refund } from "../../sagas/index.ts";
import { bookLoan, loan, manager, score } from "../../sagas/loan.ts";
import { chargeCard, order, reserveStock, sendMail, ship } from "../../sagas/order.ts";
import {
  absent,
  approval,
  child,
  fail,
  happened,
  notApplied,
  type Principal,
  saga,
  step,
  transient,
} from "../../src/index.ts";
import { fact, given } from "../../src/testing/index.ts";

const input = { id: "o-1", sku: "chair", cents: 4_200, email: "ada@example.org" };
const reserved = fact.outcome(reserveStock, { reservationId: "r-1" });
const charged = fact.outcome(chargeCard, { chargeId: "c-1" });
const shipped = fact.outcome(ship, { shipmentId: "s-1" });

describe("given a run in which charge succeeded and ship is sent", () => {
  const shipping = () => given(order, { input, history: [reserved, charged] });

  test("when ship is a no, then it goes back and owes the compensations, the last effect first", () => {
    shipping()
      .then({ status: "running", underWay: ["ship"], happened: ["reserveStock", "chargeCard"], owes: [] })
      .when(fact.outcome(ship, fail("no parcels today")))
      .then({ status: "unwinding", calls: ["undo chargeCard"], owes: ["chargeCard", "reserveStock"] })
      .when(fact.undone(chargeCard))
      .then({ calls: ["undo reserveStock"], owes: ["reserveStock"], compensated: ["chargeCard"] })
      .when(fact.undone(reserveStock))
      .then({ status: "failed", owes: [], underWay: [], dueInMs: null });
  });

  test("when it was not applied, then it is tried again in a while, and not before", () => {
    const run = shipping().when(fact.outcome(ship, notApplied("busy")));
    run.then(({ calls, dueInMs }) => {
      expect(calls).toEqual([]);
      expect(dueInMs).toBeGreaterThan(0);
    });
    run.when(fact.time(Math.ceil(run.stands.dueInMs ?? 0))).then({ calls: ["ship"], status: "running" });
  });

  test("when its worker dies, then it is asked about, and made again only if it is absent", () => {
    shipping()
      .when(fact.crash())
      .then({ status: "running", calls: ["probe ship"], happened: ["reserveStock", "chargeCard"] })
      .when(fact.probed(ship, happened({ shipmentId: "s-1" })))
      .then({ calls: ["sendMail"], happened: ["reserveStock", "chargeCard", "ship"] });
    shipping()
      .when(fact.crash())
      .when(fact.probed(ship, absent()))
      .then({ calls: ["ship"] });
  });

  test("when it is cancelled, then its answer is awaited, and all of it is undone", () => {
    shipping()
      .when(fact.cancel())
      .then({ status: "unwinding", calls: [] })
      .when(shipped)
      .then({ calls: ["undo ship"], owes: ["ship", "chargeCard", "reserveStock"] });
  });
});

describe("a mail whose answer is lost", () => {
  const lost = () =>
    given(order, { input, history: [reserved, charged, shipped] }).when(
      fact.outcome(sendMail, transient("the connection broke")),
    );

  test("is put to a person, who may say what happened", () => {
    lost().then({ status: "needs_review", happened: ["reserveStock", "chargeCard", "ship"] });
    expect(lost().stands.review).toMatchObject({
      reason: "unknown_outcome",
      step: "sendMail",
      verbs: ["resolve", "compensate", "close"],
    });
  });
});

describe("a loan", () => {
  const application = { id: "l-1", applicant: "Ada", cents: 2_000_000, adviser: "adam" };
  const documents = [fact.event("IDENTITY", { ref: "i" }), fact.event("PAYSLIP", { ref: "p" })];
  const asked = () =>
    given(loan, { input: application, history: [...documents, fact.outcome(score, { points: 640 })] });
  const mia: Principal = { id: "mia", kind: "person", roles: ["manager"] };

  test("waits for documents in any order, keeps what comes early, and gives up after thirty days", () => {
    given(loan, { input: application, history: documents.toReversed() }).then({ state: "scoring", calls: ["score"] });
    given(loan, { input: application, history: [fact.event("CHECKED", { passed: true, by: "carl" })] })
      .then({ state: "collecting", waitingFor: "event" })
      .when(fact.time("30d"))
      .then({ status: "completed", output: { end: "abandoned", cents: 0 } });
  });

  test("is booked once a manager approves it, and is not where the score is low", () => {
    const yes = { is: "approve", form: { ratePercent: 4.5, security: "a house" } } as const;
    asked()
      .then({ waitingFor: "approval" })
      .when(fact.decision(manager, yes, mia))
      .then({ calls: ["bookLoan"] });
    asked()
      .when(fact.decision(manager, { is: "reject", reason: "no" }, mia))
      .then({ status: "completed", output: { end: "declined", cents: 0 } });
    given(loan, { input: application, history: [...documents, fact.outcome(score, { points: 320 })] }).then({
      output: { end: "declined", cents: 0 },
    });
    expect(asked().stands.happened).not.toContain(bookLoan.spec.name);
  });
});

describe("what core asks of others", () => {
  const once = step("once", {
    input: z.json(),
    output: z.string(),
    effect: "once",
    action: () => "",
    probe: () => absent(),
    intent: () => ["once"],
    lateness: "1s",
    timeout: "1s",
    noCompensation: "kept",
  });
  const routed = step("routed", {
    input: z.json(),
    effect: "keyed",
    action: () => null,
    compensate: () => null,
    queue: "gpu",
  });
  const both = saga("both", { version: 1, input: z.json(), concurrency: { key: () => "all" } })
    .step(once, () => null)
    .step(routed, () => null)
    .build();

  test("is answered with yes: it has its turn, its intent is its own, and its queue calls", () => {
    given(both, { input: null })
      .then({ calls: ["once"] })
      .when(fact.outcome(once, "done"))
      .then({ calls: ["routed"], happened: ["once"] })
      .when(fact.outcome(routed, null))
      .then({ status: "completed", happened: ["once", "routed"] });
  });

  test("is a probe's answer where nobody knows what happened", () => {
    const lost = () => given(both, { input: null, history: [fact.outcome(once, transient("lost")), fact.time("5s")] });
    lost()
      .then({ underWay: ["probe once"] })
      .when(fact.probed(once, happened("found")))
      .then({ happened: ["once"] });
    lost().when(fact.probed("once", absent())).then({ happened: [] });
  });
});

describe("what is expected and is not so", () => {
  test("is named with both values, and only what was named is looked at", () => {
    const wrong = () => given(order, { input }).then({ status: "completed", calls: ["reserveStock"] });
    expect(wrong).toThrow('status: "running", not "completed"');
    expect(wrong).toThrow(AssertionError);
  });

  test("is told where a fact cannot happen then", () => {
    const run = given(order, { input });
    const refused = (next: Parameters<typeof run.when>[0]) => expect(() => run.when(next));
    refused(shipped).toThrow("ship is not under way; under way: reserveStock");
    refused(fact.undone(ship)).toThrow("undo ship is not under way");
    refused(fact.event("GO")).toThrow("order takes no event GO");
    refused(fact.decision(ship, { is: "approve" })).toThrow("ship asks nobody");
    refused(fact.outcome("reserveStock", { reservationId: 1 })).toThrow("the output of reserveStock");
    refused(fact.outcome("reserveStock", () => 1)).toThrow("is not JSON");
    // @ts-expect-error the step gives a reservation
    refused(fact.outcome(reserveStock, { chargeId: "c" })).toThrow("the output of reserveStock");
    expect(() => given(order, { input: { ...input, cents: -1 } })).toThrow("the input of order");
    const parent = saga("parent", { version: 1, input: z.json() })
      .step(child(refund), () => ({ id: "c", orderId: "o", cents: 1, email: "a@b.de", openedBy: "e" }))
      .build();
    expect(() => given(parent, { input: null }).when(fact.outcome("refund", {}))).toThrow("starts another run");
  });
});

test("nobody who awaits it waits for ever", async () => {
  // The compiler refuses it; JavaScript does not.
  const awaited: unknown = given(order, { input });
  expect(await awaited).toMatchObject({ status: "running", calls: ["reserveStock"] });
});

test("who may not decide changes nothing", () => {
  const ask = approval("ask", { input: z.json(), question: "?", rule: "always", by: "boss" });
  const asks = saga("asks", { version: 1, input: z.json() })
    .step(ask, () => null)
    .build();
  given(asks, { input: null })
    .when(fact.decision(ask, { is: "approve" }))
    .then({ waitingFor: "approval", happened: [] });
});
