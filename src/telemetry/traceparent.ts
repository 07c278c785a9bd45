/** W3C Trace Context, version 00: how a span is named across processes. */
import { hash } from "node:crypto";

export interface TracePlace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly traceFlags: number;
}

/** Of the flags of a place: its trace is sampled. */
export const sampledFlag = 1;

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** `null`: it names nothing. */
export function parseTraceparent(text: string | null): TracePlace | null {
  const [, traceId, spanId, flags] = pattern.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

export function traceparentOf({ traceId, spanId, traceFlags }: TracePlace): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** The place of a run that nobody followed when it was started: the same, whoever asks. The share `ratio` of them is sampled. */
export function placeOf(run: string, ratio: number): TracePlace {
  const digest = hash("sha256", run, "buffer");
  const isSampled = digest.readUInt32BE(24) < ratio * 2 ** 32;
  // (Parts of a longer text would be views of it, and an SDK looks at every digit of them for each span.)
  const [traceId, spanId] = [digest.toString("hex", 0, 16), digest.toString("hex", 16, 24)];
  return { traceId, spanId, traceFlags: isSampled ? sampledFlag : 0 };
}
