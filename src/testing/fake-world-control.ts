/**
 * Owns: the remote control of a fake world in another process: what a harness scripts, waits for and reads.
 * Does not own: the calls of a saga's steps (fake-world-client.ts).
 */
import type {
  Counts,
  Fault,
  FaultReport,
  HeldCall,
  HeldFilter,
  OperationCounts,
  WorldEntry,
  WorldEvent,
} from "./fake-world.ts";
import { meetsFilter } from "./world/held-calls.ts";

/** The remote control of a world in another process: what `FakeWorld` offers, by HTTP. */
export interface WorldControl {
  readonly url: string;
  /** Scripts a fault and gives its id. */
  fault(fault: Fault): Promise<string>;
  faults(): Promise<readonly FaultReport[]>;
  clearFaults(): Promise<void>;
  /** The next call whose answer is withheld, each given once. Its `release` and `drop` are sent to the world. */
  nextHeld(filter?: HeldFilter, waits?: { readonly signal?: AbortSignal | undefined }): Promise<HeldRemotely>;
  /** Arrivals and effects of one operation of a service, or of all of them. */
  countsOf(service: string, operationId?: string): Promise<Counts>;
  counts(): Promise<readonly OperationCounts[]>;
  effects(): Promise<readonly WorldEntry[]>;
  entries(): Promise<readonly WorldEntry[]>;
}

/** A held call of that world, and how to end it. */
export interface HeldRemotely extends HeldCall {
  release(): Promise<void>;
  drop(): Promise<void>;
}

interface Wire {
  /** Sends a request and gives its body, or throws what the world says of it. */
  ask(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<Readonly<Record<string, unknown>>>;
  /** The events after `seq`, as they happen. */
  events(seq: number, signal: AbortSignal): AsyncGenerator<WorldEvent>;
}

/** Connects to the world at this address. It keeps no connection of its own, so there is nothing to close. */
export function worldControl(url: string): WorldControl {
  const wire = overHttp(new URL(url).origin);
  const handedOut = new Set<string>();
  // What follows trusts the world's answers: both ends are one version of this package.
  const list = async <T>(of: string) => (await wire.ask("GET", `/${of}`))[of] as readonly T[];
  const counts = () => list<OperationCounts>("counts");
  return {
    url,
    fault: async (fault) => String((await wire.ask("POST", "/faults", fault))["id"]),
    faults: () => list<FaultReport>("faults"),
    clearFaults: async () => void (await wire.ask("DELETE", "/faults")),
    nextHeld: async (filter = {}, waits = {}) => {
      const claims = (call: HeldCall) => {
        const isMine = !handedOut.has(call.id) && meetsFilter(call, filter);
        if (isMine) handedOut.add(call.id);
        return isMine;
      };
      return remotely(wire, await nextHeld(wire, claims, waits.signal));
    },
    countsOf: async (service, operationId) => {
      const mine = (await counts()).filter((each) => {
        return each.service === service && (operationId === undefined || each.operationId === operationId);
      });
      const total = (of: "arrivals" | "effects") => mine.reduce((sum, each) => sum + each[of], 0);
      return { arrivals: total("arrivals"), effects: total("effects") };
    },
    counts,
    effects: () => list<WorldEntry>("effects"),
    entries: () => list<WorldEntry>("entries"),
  };
}

function remotely(wire: Wire, call: HeldCall): HeldRemotely {
  return {
    ...call,
    release: async () => void (await wire.ask("POST", `/held/${call.id}/release`)),
    drop: async () => void (await wire.ask("POST", `/held/${call.id}/drop`)),
  };
}

/** What is held is listed with the number of the last event, so that nothing falls between the list and the stream. */
async function nextHeld(
  wire: Wire,
  claims: (call: HeldCall) => boolean,
  signal: AbortSignal | undefined,
): Promise<HeldCall> {
  signal?.throwIfAborted();
  const { held, seq } = await wire.ask("GET", "/held");
  const waiting = (held as readonly HeldCall[]).find(claims);
  if (waiting !== undefined) return waiting;
  const done = new AbortController();
  try {
    const until = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
    for await (const { event, call } of wire.events(Number(seq), until))
      if (event === "held" && claims(call)) return call;
  } finally {
    done.abort();
  }
  throw new Error("the world was closed before a call was held");
}

function overHttp(base: string): Wire {
  return {
    ask: async (method, path, body) => {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(base + path, { method, headers: { "content-type": "application/json" }, ...sent });
      const answered = (await response.json()) as Readonly<Record<string, unknown>>; // the world answers in objects
      if (response.ok) return answered;
      throw Object.assign(new Error(`${method} ${path}: ${String(answered["message"])}`), {
        status: response.status,
        code: answered["code"],
      });
    },
    events: async function* (seq, signal) {
      const { body } = await fetch(`${base}/events?after=${seq}`, { signal });
      if (body === null) return;
      const decoder = new TextDecoder();
      let rest = "";
      for await (const chunk of body) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as WorldEvent;
      }
    },
  };
}
