/**
 * Owns: reading a user's own list of orders, one JSON object a line. Pure. What does not fit is said with its line and
 * field and left out; the others run.
 */
import type { ZodType } from "zod";

/** More than the fake world would write down. */
const maxOrders = 20_000;

export interface OrderLine {
  /** Counted from 1, as an editor does. */
  readonly line: number;
  readonly id: string;
  readonly order: unknown;
}

export interface InputError {
  readonly line: number;
  /** Where in the object, e.g. `cents`; `null`: the line as a whole. */
  readonly field: string | null;
  readonly message: string;
}

/** A line that says once more what an earlier one said: it is run once. */
export interface Repeated {
  readonly line: number;
  readonly id: string;
  readonly firstLine: number;
}

export interface OrderList {
  readonly orders: readonly OrderLine[];
  readonly errors: readonly InputError[];
  readonly repeated: readonly Repeated[];
}

/** Reads orders by the saga's own schema. Blank lines are passed over. */
export function readOrders(text: string, schema: ZodType): OrderList {
  const orders = new Map<string, OrderLine>();
  const errors: InputError[] = [];
  const repeated: Repeated[] = [];
  for (const [index, written] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (written.trim() === "") continue;
    const read = readLine(index + 1, written, schema);
    if ("problems" in read) errors.push(...read.problems);
    else place(read);
  }
  return { orders: [...orders.values()], errors, repeated };

  function place(read: OrderLine): void {
    const { line, id } = read;
    const first = orders.get(id);
    if (first !== undefined && sameOrder(first, read)) repeated.push({ line, id, firstLine: first.line });
    else if (first !== undefined)
      errors.push({ line, field: "id", message: `"${id}" is another order, of line ${first.line}` });
    else if (orders.size === maxOrders)
      errors.push({ line, field: null, message: `at most ${maxOrders} orders are run` });
    else orders.set(id, read);
  }
}

function readLine(
  line: number,
  written: string,
  schema: ZodType,
): OrderLine | { readonly problems: readonly InputError[] } {
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch (error) {
    const message = `this is not JSON (${error instanceof Error ? error.message : String(error)})`;
    return { problems: [{ line, field: null, message }] };
  }
  const read = schema.safeParse(value);
  if (!read.success) {
    const { issues } = read.error;
    return { problems: issues.map(({ path, message }) => ({ line, field: fieldOf(path), message: lower(message) })) };
  }
  // The schema of an order has an id, which is text.
  const { id } = read.data as { readonly id: string };
  return { line, id, order: read.data };
}

function fieldOf(path: readonly PropertyKey[]): string | null {
  return path.length === 0 ? null : path.map(String).join(".");
}

/** Both came through one schema, so their fields are in one order. */
function sameOrder(one: OrderLine, other: OrderLine): boolean {
  return JSON.stringify(one.order) === JSON.stringify(other.order);
}

function lower(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** `line 3, cents: invalid input: expected number, received string` */
export function formatInputError({ line, field, message }: InputError): string {
  return `line ${line}${field === null ? "" : `, ${field}`}: ${message}`;
}
