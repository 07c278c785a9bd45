import { createColors } from "picocolors";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../src/cli/demo/claims.ts";
import { compare } from "../../src/cli/demo/compare.ts";
import { reportOn } from "../../src/cli/demo/report.ts";
import type { PlayedChapter, Story } from "../../src/cli/demo/story.ts";
import { renderReport } from "../../src/cli/demo/table.ts";
import { readWitness } from "../../src/cli/demo/witness.ts";

const charge = "demo/default/order-1/chargeCard/1";
const mail = "demo/default/order-1/sendMail/1";

function claim(operationId: string, parts: Partial<Claim> = {}): Claim {
  const [, , run = "", step = ""] = operationId.split("/");
  const known = { state: "succeeded", sends: 1, effects: 1, certain: true };
  return { operationId, run, step, side: operationId.endsWith("/undo") ? "undo" : "action", ...known, ...parts };
}

type Line = Readonly<Record<string, unknown>>;

function lines(...written: readonly Line[]): string {
  return written.map((line, index) => `${JSON.stringify({ n: index + 1, ...line })}\n`).join("");
}

function line(kind: string, operationId: string, name: string, more: Line = {}): Line {
  const [service, action] = name.split(".");
  return { kind, operationId, service, action, args: { orderId: "order-1" }, run: operationId.split("/")[2], ...more };
}

const once = (operationId: string, name: string) => [
  line("arrival", operationId, name),
  line("effect", operationId, name),
];
const differences = (claims: readonly Claim[], text: string) => compare(claims, readWitness(text)).differences;

describe("claims and observations agree", () => {
  test("when each effect that is claimed was seen once", () => {
    expect(differences([claim(charge)], lines(...once(charge, "payments.charge")))).toEqual([]);
  });

  test("when a call that was repeated under its key had one effect", () => {
    const text = lines(...once(charge, "payments.charge"), line("arrival", charge, "payments.charge"));
    expect(differences([claim(charge, { sends: 2 })], text)).toEqual([]);
  });

  test("when an unknown effect was seen once, or never, but not twice", () => {
    const unknown = claim(mail, { state: "unknown", certain: false, sends: 2 });
    expect(differences([unknown], lines(...once(mail, "mail.send")))).toEqual([]);
    expect(differences([unknown], lines())).toEqual([]);
    const twice = differences([unknown], lines(...once(mail, "mail.send"), ...once(mail, "mail.send")));
    expect(twice).toMatchObject([
      { operationId: mail, difference: "the ledger claims at most 1 effect, the world saw 2" },
    ]);
  });

  test("when what did not happen was asked for and refused", () => {
    const refused = claim(charge, { state: "not_applied", effects: 0 });
    expect(differences([refused], lines(line("arrival", charge, "payments.charge")))).toEqual([]);
  });
});

describe("a difference is", () => {
  test.each([
    ["a claim that the world never saw", [claim(charge)], lines(), "the world never saw it"],
    ["an effect without a claim", [], lines(...once(charge, "payments.charge")), "the ledger does not know it"],
    [
      "a second effect",
      [claim(charge, { sends: 2 })],
      lines(...once(charge, "payments.charge"), ...once(charge, "payments.charge")),
      "the ledger claims 1 effect, the world saw 2",
    ],
    [
      "an effect of what is claimed not to have happened",
      [claim(charge, { state: "not_applied", effects: 0 })],
      lines(...once(charge, "payments.charge")),
      "the ledger claims 0 effects, the world saw 1",
    ],
    [
      "a call that the ledger did not grant",
      [claim(charge)],
      lines(...once(charge, "payments.charge"), line("arrival", charge, "payments.charge")),
      "the ledger let it be called once, the world was called 2 times",
    ],
    [
      "one operation under two names",
      [claim(charge)],
      lines(line("arrival", charge, "payments.charge"), line("effect", charge, "payments.refund")),
      "under several names",
    ],
    [
      "one operation with two arguments",
      [claim(charge)],
      lines(
        line("arrival", charge, "payments.charge"),
        line("effect", charge, "payments.charge", { args: { cents: 1 } }),
      ),
      "different arguments",
    ],
    [
      "another run's call",
      [claim(charge)],
      lines(...once(charge, "payments.charge").map((each) => ({ ...each, run: "order-9" }))),
      "was called by order-9",
    ],
    [
      "an effect that nobody asked for",
      [claim(charge)],
      lines(line("effect", charge, "payments.charge")),
      "nobody asked it for",
    ],
  ] as const)("%s", (_, claims, text, difference) => {
    expect(differences(claims, text)).toMatchObject([
      { operationId: charge, difference: expect.stringContaining(difference) },
    ]);
  });

  test("a line that is gone, doubled or cannot be read, wherever it stands", () => {
    const whole = lines(...once(charge, "payments.charge"), line("query", charge, "payments.charge"))
      .trimEnd()
      .split("\n");
    const [first = "", second = "", third = ""] = whole;
    expect(differences([claim(charge)], whole.join("\n"))).toEqual([]);
    for (const altered of [
      [first, third],
      [first, second, second, third],
      [second, first, third],
      [first, second, "{"],
    ]) {
      expect(differences([claim(charge)], altered.join("\n"))[0]).toMatchObject({ operationId: null });
    }
  });
});

describe("the report", () => {
  const chapter: PlayedChapter = {
    key: "parked",
    name: "a mail nobody can know about",
    runs: [{ id: "order-1", saga: "order", status: "needs_review", rollback: "none", review: "unknown_outcome" }],
    claims: [
      claim("demo/default/order-1/reserveStock/1"),
      claim(charge),
      claim("demo/default/order-1/ship/1"),
      claim(mail, { state: "unknown", certain: false }),
    ],
    killed: null,
    problems: [],
  };
  const story: Story = { format: 1, namespace: "demo", chapters: [chapter] };
  const asTold = [
    ...once("demo/default/order-1/reserveStock/1", "stock.reserve"),
    ...once(charge, "payments.charge"),
    ...once("demo/default/order-1/ship/1", "shipping.ship"),
    ...once(mail, "mail.send"),
  ];

  test("is ok when the chapter went as told and both sides agree", () => {
    const report = reportOn(story, readWitness(lines(...asTold)));
    expect(report).toMatchObject({ ok: true, differences: [], strangers: [], chapters: [{ ok: true, problems: [] }] });
    expect(report.chapters[0]?.observed.map(({ effects }) => effects)).toEqual([1, 1, 1, 1]);
  });

  test("is not ok when the mail went out twice", () => {
    const report = reportOn(story, readWitness(lines(...asTold, ...once(mail, "mail.send"))));
    expect(report).toMatchObject({ ok: false, chapters: [{ ok: false }], differences: [{ operationId: mail }] });
    expect(report.chapters[0]?.problems).toContain("order-1: mail should have been called once, it was called 2 times");
  });

  test("names the step that happened out of turn", () => {
    const [a, b, ...rest] = asTold;
    const report = reportOn(
      story,
      readWitness(lines(...rest.slice(0, 2), ...(a && b ? [a, b] : []), ...rest.slice(2))),
    );
    expect(report).toMatchObject({ ok: false, differences: [] });
    expect(report.chapters[0]?.problems[0]).toMatch(
      /should show stock.reserve, payments.charge, .* it shows payments.charge, stock/,
    );
  });

  test("lists what belongs to no chapter, and is not ok", () => {
    const report = reportOn(story, readWitness(lines(...asTold, ...once("x/default/other/pay/1", "payments.charge"))));
    expect(report).toMatchObject({ ok: false, strangers: [{ operationId: "x/default/other/pay/1" }] });
    expect(renderReport(report, createColors(false))).toContain("in no ledger of this story");
  });
});
