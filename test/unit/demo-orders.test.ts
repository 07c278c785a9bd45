import { describe, expect, test } from "vitest";
import { Order } from "../../sagas/order.ts";
import { formatInputError, readOrders } from "../../src/cli/demo/orders.ts";

const ok = (id: string, more: object = {}) =>
  JSON.stringify({ id, sku: "blue-mug", cents: 1850, email: "ada@example.com", ...more });
const read = (...lines: readonly string[]) => readOrders(lines.join("\n"), Order);
const said = (...lines: readonly string[]) => read(...lines).errors.map(formatInputError);

describe("a list of orders", () => {
  test("is one object a line; blank lines, CRLF and a byte order mark change nothing", () => {
    const { orders, errors } = readOrders(`\uFEFF${ok("o-1")}\r\n\r\n${ok("o-2")}\r\n`, Order);
    expect(errors).toEqual([]);
    expect(orders.map(({ line, id }) => [line, id])).toEqual([
      [1, "o-1"],
      [3, "o-2"],
    ]);
  });

  test("names line and field of what does not fit, and keeps the others", () => {
    const list = read(ok("o-1"), ok("o-2", { cents: "12" }), "{", ok("o 3"), "[]", ok("o-4"));
    expect(list.orders.map(({ id }) => id)).toEqual(["o-1", "o-4"]);
    expect(list.errors.map(({ line, field }) => [line, field])).toEqual([
      [2, "cents"],
      [3, null],
      [4, "id"],
      [5, null],
    ]);
  });

  test("says every field of a line that is wrong", () => {
    expect(said(JSON.stringify({ id: "o-1", cents: -5 }))).toEqual([
      expect.stringContaining("line 1, sku: "),
      expect.stringContaining("line 1, cents: "),
      expect.stringContaining("line 1, email: "),
    ]);
  });

  test("runs a repeated order once and says so", () => {
    const list = read(ok("o-1"), ok("o-1"));
    expect(list).toMatchObject({
      orders: [{ id: "o-1" }],
      errors: [],
      repeated: [{ line: 2, id: "o-1", firstLine: 1 }],
    });
  });

  test("refuses one id for two orders", () => {
    expect(said(ok("o-1"), ok("o-1", { cents: 1 }))).toEqual(['line 2, id: "o-1" is another order, of line 1']);
  });
});
