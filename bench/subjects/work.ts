/**
 * The work that every contestant does: the same input, the same steps, the same results. A step does nothing but answer:
 * what is measured is what surrounds it. Owns the payload, and when the work began.
 */

/** Names of the steps of the order, in order. */
export const stepNames = ["reserve", "charge", "pack", "ship", "mail"] as const;

/** Steps of the long saga. */
export const longSteps = 25;

export interface OrderInput {
  readonly id: string;
  readonly sku: string;
  readonly cents: number;
  /** How long a `timed` one waits. */
  readonly waitMs?: number;
}

export interface StepInput {
  readonly orderId: string;
  readonly cents: number;
}

/** 200 bytes as JSON. */
export interface StepResult {
  readonly reference: string;
  readonly at: number;
  readonly lines: { readonly sku: string; readonly count: number }[];
  readonly note: string;
}

export function orderInput(number: number): OrderInput {
  return { id: `o-${number}`, sku: "SKU-4711", cents: 4_200 };
}

const padding = "x".repeat(67);

/** When the first step since `reset` was entered, and what this process had used of the CPU by then. */
export const start = {
  atMs: 0,
  cpu: process.cpuUsage(),
  isSeen: false,
  reset(): void {
    this.isSeen = false;
  },
};

function noteStart(): void {
  start.isSeen = true;
  start.cpu = process.cpuUsage();
  start.atMs = performance.now();
}

type Around = <Result>(work: () => Result) => Result;

/** What stands around the work of a step in this process, as what instruments its clients would; nothing unless set. */
export const instrumented: { around: Around | null } = { around: null };

/** What a step does in the world outside: nothing, as fast as a service in the same process could. */
export function perform(step: string, input: StepInput): Promise<StepResult> {
  const { around } = instrumented;
  return around === null ? answered(step, input) : around(() => answered(step, input));
}

async function answered(step: string, input: StepInput): Promise<StepResult> {
  if (!start.isSeen) noteStart();
  const reference = `${step}-${input.orderId}`.padEnd(20, "0").slice(0, 20);
  const lines = [
    { sku: "SKU-4711", count: 1 },
    { sku: "SKU-4712", count: 2 },
  ];
  return { reference, at: 1_764_000_000_000, lines, note: padding };
}
