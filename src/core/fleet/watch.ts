/**
 * When an alert is told: a fold over observations. Invariants: W1 an alarm that holds is told once, and again only after `againMs`.
 * W2 its end is told if it was told itself. W3 what was not looked at has not ended: while the store is away nothing else begins
 * or ends. W4 the same observations tell the same alerts. W5 who begins to tell in another one's place tells what holds, once more.
 */
import { type Alarm, alarmsIn, type Seen, settingsOf, type Thresholds } from "./alarms.ts";

export interface Observation {
  /** Another supervisor tells: it is looked only. */
  readonly isStandby?: boolean;
  /** Of the observer's monotonic clock. */
  readonly at: number;
  /** `null`: the store did not answer. */
  readonly seen: Seen | null;
}

interface Held {
  readonly alarm: Alarm;
  readonly since: number;
  /** How often it was told, and when last. */
  readonly told: number;
  readonly toldAt: number;
}

/** What is remembered from one observation to the next. */
export interface WatchState {
  readonly held: Readonly<Record<string, Held>>;
  readonly parked: readonly { readonly at: number; readonly count: number }[];
  readonly settings: Readonly<Record<string, string>>;
}

export interface Alert {
  /** Of this word: whoever has heard it needs not hear it again. */
  readonly id: string;
  readonly key: string;
  readonly state: "firing" | "resolved";
  readonly severity: Alarm["severity"];
  readonly message: string;
  /** For how long it has held. */
  readonly heldMs: number;
}

export const nothingSeen: WatchState = { held: {}, parked: [], settings: {} };
const storeKey = "store_away";

export function watch(
  state: WatchState,
  { at, seen, isStandby = false }: Observation,
  limits: Thresholds,
): { readonly state: WatchState; readonly alerts: readonly Alert[] } {
  const parked = seen === null ? state.parked : recent(state.parked, { at, count: seen.parked }, limits);
  const before = { parked: parked[0]?.count ?? 0, settings: state.settings };
  const alarms = seen === null ? [storeAway(limits)] : alarmsIn(seen, before, limits);
  const now = new Map(alarms.map((alarm) => [alarm.key, alarm]));
  const alerts: Alert[] = [];
  const held: Record<string, Held> = {};
  for (const alarm of now.values()) {
    const was = state.held[alarm.key] ?? { alarm, since: at, told: 0, toldAt: 0 };
    const next = isStandby ? { ...was, alarm, told: 0, toldAt: 0 } : toldOf(was, alarm, at, limits);
    if (next.toldAt === at && next.told > 0) alerts.push(alertOf(next, "firing", at));
    held[alarm.key] = next;
  }
  for (const [key, was] of Object.entries(state.held)) {
    if (now.has(key)) continue;
    if (seen === null && key !== storeKey) held[key] = was;
    else if (was.told > 0) alerts.push(alertOf(was, "resolved", at));
  }
  const settings = seen === null ? state.settings : firstSettings(state.settings, seen);
  return { state: { held, parked, settings }, alerts };
}

/** The keys of what has been told and still holds. */
export function firingIn({ held }: WatchState): readonly Alarm[] {
  return Object.values(held).flatMap(({ alarm, told }) => (told > 0 ? [alarm] : []));
}

function toldOf(was: Held, alarm: Alarm, at: number, { againMs }: Thresholds): Held {
  const isDue = was.told === 0 ? at - was.since >= alarm.afterMs : at - was.toldAt >= againMs;
  return { ...was, alarm, ...(isDue ? { told: was.told + 1, toldAt: at } : {}) };
}

function alertOf({ alarm, since, told }: Held, state: Alert["state"], at: number): Alert {
  const word = state === "firing" ? String(told) : "end";
  const { key, severity, message } = alarm;
  return { id: `${key}@${Math.round(since)}.${word}`, key, state, severity, message, heldMs: Math.round(at - since) };
}

function storeAway({ storeMs }: Thresholds): Alarm {
  return { key: storeKey, severity: "page", message: "Redis does not answer", afterMs: storeMs };
}

/** The counts of the window, the oldest first. */
function recent(
  counts: WatchState["parked"],
  count: WatchState["parked"][number],
  { parkedWindowMs }: Thresholds,
): WatchState["parked"] {
  return [...counts.filter(({ at }) => count.at - at <= parkedWindowMs), count];
}

function firstSettings(known: WatchState["settings"], { servers }: Seen): WatchState["settings"] {
  return { ...Object.fromEntries(servers.map((server) => [server.address, settingsOf(server)])), ...known };
}
