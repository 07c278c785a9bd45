/**
 * Owns: the clients that a saga's steps use to reach the fake world, in process or over HTTP, as a provider's SDK would
 * be: typed answers, errors that carry `status` and `code`.
 * Does not own: what an error means for an effect; that is for the step, or for `classifyHttp`, to say.
 */
import type { FakeWorld, ServiceProfile, WorldReply } from "./fake-world.ts";
import { type JsonObject, readObject } from "./world/input.ts";

/** What goes with a call. The context that a step's action receives fits here as it is. */
export interface CallOptions {
  /** Sent as `Idempotency-Key`. */
  readonly operationId: string;
  readonly signal?: AbortSignal | undefined;
  readonly run?: { readonly id: string } | undefined;
  readonly step?: string | undefined;
}

export type AskOptions = Omit<CallOptions, "operationId">;

/** What a service of the fake world answered instead of success, or how the connection broke. */
export class WorldCallError extends Error {
  override readonly name = "WorldCallError";
  /** The HTTP status; absent when no answer came. */
  readonly status?: number;
  /** The service's own code, or the one of the broken connection (`ECONNREFUSED`, `ECONNRESET`, `UND_ERR_SOCKET`). */
  readonly code?: string;
  readonly retryAfterSeconds?: number;

  constructor(
    message: string,
    known: Partial<Pick<WorldCallError, "status" | "code" | "retryAfterSeconds" | "cause">>,
  ) {
    super(message, "cause" in known ? { cause: known.cause } : undefined);
    if (known.status !== undefined) this.status = known.status;
    if (known.code !== undefined) this.code = known.code;
    if (known.retryAfterSeconds !== undefined) this.retryAfterSeconds = known.retryAfterSeconds;
  }
}

type Call<Args, Result> = (args: Args, options: CallOptions) => Promise<Result>;
type Find<Result> = (operationId: string, options?: AskOptions) => Promise<Result | undefined>;

/** Flights and hotels: `keyed` by operation id, and may be asked. */
export interface Bookings {
  readonly book: Call<{ readonly tripId: string } & JsonObject, { readonly bookingId: string }>;
  readonly cancel: Call<{ readonly bookingId: string }, { readonly cancellationId: string }>;
  readonly findByKey: Find<{ readonly bookingId: string }>;
  readonly findCancellationByKey: Find<{ readonly cancellationId: string }>;
}

export interface WorldClient {
  /** `idempotent` by order and sku: reserving what is reserved gives the same reservation. */
  readonly stock: {
    readonly reserve: Call<
      { readonly orderId: string; readonly sku: string } & JsonObject,
      { readonly reservationId: string }
    >;
    readonly release: Call<{ readonly reservationId: string }, { readonly releaseId: string }>;
    readonly findByKey: Find<{ readonly reservationId: string }>;
  };
  /** `keyed` by operation id, and may be asked. */
  readonly payments: {
    readonly charge: Call<{ readonly orderId: string; readonly cents: number }, { readonly chargeId: string }>;
    readonly refund: Call<{ readonly chargeId: string }, { readonly refundId: string }>;
    readonly findByKey: Find<{ readonly chargeId: string }>;
    readonly findRefundByKey: Find<{ readonly refundId: string }>;
  };
  /** `keyed` by operation id, and may be asked. */
  readonly shipping: {
    readonly ship: Call<{ readonly reservationId: string } & JsonObject, { readonly shipmentId: string }>;
    readonly recall: Call<{ readonly shipmentId: string }, { readonly recallId: string }>;
    readonly findByKey: Find<{ readonly shipmentId: string }>;
  };
  /** `once`: every request is one more mail, and it cannot be asked unless the world says so. */
  readonly mail: {
    readonly send: Call<{ readonly to: string; readonly subject: string } & JsonObject, { readonly messageId: string }>;
    readonly findByKey: Find<{ readonly messageId: string }>;
  };
  readonly flights: Bookings;
  readonly hotels: Bookings;
  /** A service of any name, which behaves as its profile says. */
  op(name: string, profile?: ServiceProfile): GenericService;
}

export interface GenericService {
  call(action: string, args: JsonObject, options: CallOptions): Promise<JsonObject>;
  /** Several operations in one request; a failed item is an item of the answer with its `status`. */
  batch(
    action: string,
    items: readonly { readonly operationId: string; readonly args: JsonObject }[],
    options?: AskOptions,
  ): Promise<JsonObject>;
  /** The answer that the operation had, or `undefined` when the service knows none. */
  find(action: string, operationId: string, options?: AskOptions): Promise<JsonObject | undefined>;
}

/**
 * The services of a fake world: the one handed in, or the one served at this address.
 * Every method rejects with a `WorldCallError`, or with the reason of its `signal`.
 */
export function worldClient(world: FakeWorld | string): WorldClient {
  const transport = typeof world === "string" ? overHttp(world) : inProcess(world);
  const op = (name: string, profile?: ServiceProfile) => genericService(transport, name, profile);
  // The catalogue (world/services.ts) answers each action with just these fields; fake-world.test.ts holds the two together.
  const call = <Args extends JsonObject, Result>(service: string, action: string): Call<Args, Result> => {
    return (args, options) => op(service).call(action, args, options) as Promise<Result>;
  };
  const find = <Result>(service: string, action: string): Find<Result> => {
    return (operationId, options) => op(service).find(action, operationId, options) as Promise<Result | undefined>;
  };
  const bookings = (service: string): Bookings => ({
    book: call(service, "book"),
    cancel: call(service, "cancel"),
    findByKey: find(service, "book"),
    findCancellationByKey: find(service, "cancel"),
  });
  return {
    stock: {
      reserve: call("stock", "reserve"),
      release: call("stock", "release"),
      findByKey: find("stock", "reserve"),
    },
    payments: {
      charge: call("payments", "charge"),
      refund: call("payments", "refund"),
      findByKey: find("payments", "charge"),
      findRefundByKey: find("payments", "refund"),
    },
    shipping: {
      ship: call("shipping", "ship"),
      recall: call("shipping", "recall"),
      findByKey: find("shipping", "ship"),
    },
    mail: { send: call("mail", "send"), findByKey: find("mail", "send") },
    flights: bookings("flights"),
    hotels: bookings("hotels"),
    op,
  };
}

interface Request {
  readonly service: string;
  readonly action: string;
  readonly profile: ServiceProfile | undefined;
  readonly options: AskOptions;
}

/** The three things a service can be asked, in process or over HTTP. */
interface Transport {
  call(request: Request & { readonly operationId: string; readonly args: JsonObject }): Promise<WorldReply>;
  batch(
    request: Request & { readonly items: readonly { readonly operationId: string; readonly args: JsonObject }[] },
  ): Promise<WorldReply>;
  query(request: Request & { readonly operationId: string }): Promise<WorldReply>;
}

function genericService(transport: Transport, service: string, profile: ServiceProfile | undefined): GenericService {
  return {
    call: async (action, args, options) => {
      const { operationId } = options;
      return bodyOf(service, action, await transport.call({ service, action, profile, options, operationId, args }));
    },
    batch: async (action, items, options = {}) => {
      return bodyOf(service, action, await transport.batch({ service, action, profile, options, items }));
    },
    find: async (action, operationId, options = {}) => {
      const reply = await transport.query({ service, action, profile, options, operationId });
      const { found, result } = bodyOf(service, action, reply);
      return found === true ? readObject(result, "the result") : undefined;
    },
  };
}

function bodyOf(service: string, action: string, reply: WorldReply): JsonObject {
  if (reply.kind === "reset") {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    throw new WorldCallError(`${service}.${action}: the connection was reset`, { code: "ECONNRESET", cause });
  }
  const { status, body, headers } = reply;
  if (status < 300) return body;
  const code = typeof body["code"] === "string" ? body["code"] : undefined;
  const retryAfterSeconds = Number(headers?.["retry-after"] ?? Number.NaN);
  throw new WorldCallError(`${service}.${action}: ${String(body["message"] ?? status)} (${status})`, {
    status,
    ...(code === undefined ? {} : { code }),
    ...(Number.isNaN(retryAfterSeconds) ? {} : { retryAfterSeconds }),
  });
}

function inProcess(world: FakeWorld): Transport {
  const asked = ({ options, profile, ...request }: Request) => ({
    ...request,
    ...(profile === undefined ? {} : { profile }),
    ...(options.run === undefined ? {} : { run: options.run.id }),
    ...(options.step === undefined ? {} : { step: options.step }),
    pid: process.pid,
  });
  return {
    call: ({ operationId, args, ...request }) => {
      return world.call({ ...asked(request), operationId, args }, { signal: request.options.signal });
    },
    batch: ({ items, ...request }) => {
      return world.batch({ ...asked(request), items }, { signal: request.options.signal });
    },
    query: ({ operationId, ...request }) => {
      return world.query({ ...asked(request), operationId }, { signal: request.options.signal });
    },
  };
}

function overHttp(url: string): Transport {
  const base = new URL(url).origin;
  const address = ({ service, action, profile }: Request, rest = "", extra: Readonly<Record<string, string>> = {}) => {
    const params = new URLSearchParams(extra);
    for (const [key, value] of Object.entries(profile ?? {})) params.set(key, String(value));
    const path = `${base}/services/${encodeURIComponent(service)}/${encodeURIComponent(action)}${rest}`;
    return params.size === 0 ? path : `${path}?${params}`;
  };
  return {
    call: ({ operationId, args, ...request }) => {
      const headers = { ...callHeaders(request.options), "idempotency-key": encodeURI(operationId) };
      return exchange(address(request), { method: "POST", body: args, headers, signal: request.options.signal });
    },
    batch: ({ items, ...request }) => {
      const headers = callHeaders(request.options);
      const sent = { method: "POST", body: { items }, headers, signal: request.options.signal };
      return exchange(address(request, "/batch"), sent);
    },
    query: ({ operationId, ...request }) => {
      const headers = callHeaders(request.options);
      return exchange(address(request, "", { operationId }), { headers, signal: request.options.signal });
    },
  };
}

function callHeaders({ run, step }: AskOptions): Record<string, string> {
  return {
    ...(run === undefined ? {} : { "x-reprise-run": encodeURI(run.id) }),
    ...(step === undefined ? {} : { "x-reprise-step": encodeURI(step) }),
    "x-reprise-worker": String(process.pid),
  };
}

interface Exchanged {
  readonly method?: string;
  readonly body?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

async function exchange(url: string, { method = "GET", body, headers, signal }: Exchanged): Promise<WorldReply> {
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    const answered = readObject(await response.json(), "the answer");
    const retryAfter = response.headers.get("retry-after");
    const kept = retryAfter === null ? {} : { headers: { "retry-after": retryAfter } };
    return { kind: "answer", status: response.status, body: answered, ...kept };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw brokenConnection(url, error);
  }
}

/** fetch says only "fetch failed": what broke is its cause, and that is kept as ours. */
function brokenConnection(url: string, error: unknown): WorldCallError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new WorldCallError(`${new URL(url).pathname}: ${why}`, {
    cause,
    ...(typeof code === "string" ? { code } : {}),
  });
}
