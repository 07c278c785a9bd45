/**
 * Owns: the fake world over HTTP, on 127.0.0.1 unless told otherwise: one process that outlives whatever is killed beside it.
 * Does not own: what an answer says (fake-world.ts), nor the world, which the caller closes.
 *
 * | | |
 * |---|---|
 * | `POST /services/<service>/<action>` | a call: the body is its arguments, `Idempotency-Key` its operation id |
 * | `POST /services/<service>/<action>/batch` | `{ items: [{ operationId, args }] }` |
 * | `GET /services/<service>/<action>?operationId=` | what became of it |
 * | `POST /faults` · `GET` · `DELETE` · `DELETE /faults/<id>` | script what goes wrong, see how often it did, end it |
 * | `GET /events?after=<seq>` | held, abandoned, released, dropped: one JSON line each, at once, until you leave |
 * | `GET /held` · `POST /held/<id>/release` · `POST /held/<id>/drop` | the calls whose answer is withheld |
 * | `GET /counts` · `GET /effects` · `GET /entries` | the report |
 *
 * A service of your own says what it is like in the address: `?effect=once&query=true&direction=undo&keyTtlMs=`.
 * `x-reprise-run`, `x-reprise-step` and `x-reprise-worker` (a pid) are noted with the request.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FakeWorld, Fault, WorldBatch, WorldCaller, WorldReply } from "./fake-world.ts";
import { type JsonObject, limits, readInteger, readObject, readText, WorldRefusal } from "./world/input.ts";
import { readProfile, type ServiceProfile } from "./world/services.ts";

const maxEventStreams = 100;
const maxUnreadBytes = 1024 * 1024;

export interface WorldServer {
  readonly url: string;
  readonly port: number;
  /** Stops listening and cuts every connection. It may be called again. */
  close(): Promise<void>;
}

export interface ServeOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Whoever reaches the port moves the world: 127.0.0.1 unless given; another address is for a network of its own. */
  readonly host?: string;
}

/** Puts a world behind HTTP. Rejects if the port is taken. */
export async function serveFakeWorld(world: FakeWorld, options: ServeOptions = {}): Promise<WorldServer> {
  const { port: wanted = 0, host = "127.0.0.1" } = options;
  const streams = new Set<ServerResponse>();
  const server = createServer((request, response) => void handle({ world, streams, request, response }));
  server.maxConnections = 5_000;
  const port = await listen(server, wanted, host);
  let closed: Promise<void> | undefined;
  const close = () => {
    for (const stream of streams) stream.end();
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return stopped;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

interface Exchange {
  readonly world: FakeWorld;
  readonly streams: Set<ServerResponse>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Routed extends Exchange {
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

type Answer = WorldReply | { readonly kind: "streaming" };

async function handle(exchange: Exchange): Promise<void> {
  const { request, response } = exchange;
  try {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const path = url.pathname.split("/").filter((part) => part !== "");
    send(response, await route({ ...exchange, path, params: url.searchParams }));
  } catch (error) {
    if (response.destroyed) return;
    send(response, problem(error));
  }
}

function route(routed: Routed): Answer | Promise<Answer> {
  const { world, request, path } = routed;
  const [room, first, second, third] = path;
  switch (`${request.method ?? ""} /${room ?? ""}`) {
    case "POST /services":
      if (first === undefined || second === undefined) break;
      return third === "batch" ? batch(routed, first, second) : call(routed, first, second);
    case "GET /services":
      if (first === undefined || second === undefined) break;
      return query(routed, first, second);
    case "POST /faults":
      return setFault(routed);
    case "GET /faults":
      return ok({ faults: world.faults() });
    case "DELETE /faults":
      return endFault(world, first);
    case "GET /events":
      return stream(routed);
    case "GET /held":
      return ok({ held: world.held(), seq: world.lastEvent() });
    case "POST /held":
      if (first === undefined || (second !== "release" && second !== "drop")) break;
      return endHeld(world, first, second);
    case "GET /counts":
      return ok({ counts: world.counts() });
    case "GET /effects":
      return ok({ effects: world.effects() });
    case "GET /entries":
      return ok({ entries: world.entries() });
  }
  throw new WorldRefusal(404, "unknown_address", `there is no ${request.method} /${path.join("/")}`);
}

async function call(routed: Routed, service: string, action: string): Promise<WorldReply> {
  const operationId = header(routed.request, "idempotency-key");
  if (operationId === undefined) {
    throw new WorldRefusal(400, "operation_id_required", "a call needs the header Idempotency-Key");
  }
  const args = await readBody(routed.request);
  const asked = { service, action, operationId, args, ...callerOf(routed.request), ...profileOf(routed.params) };
  return routed.world.call(asked, { signal: goneSignal(routed.response) });
}

async function batch(routed: Routed, service: string, action: string): Promise<WorldReply> {
  const { items } = await readBody(routed.request);
  if (!Array.isArray(items)) throw new WorldRefusal(400, "bad_request", "items must be a list");
  const read = items.map((item: unknown): WorldBatch["items"][number] => {
    const { operationId, args } = readObject(item, "an item");
    return { operationId: readText(operationId, "the operation id"), args: readObject(args, "the arguments") };
  });
  const asked = { service, action, items: read, ...callerOf(routed.request), ...profileOf(routed.params) };
  return routed.world.batch(asked, { signal: goneSignal(routed.response) });
}

function query(routed: Routed, service: string, action: string): Promise<WorldReply> {
  const operationId = readText(routed.params.get("operationId"), "the parameter operationId");
  const asked = { service, action, operationId, ...callerOf(routed.request), ...profileOf(routed.params) };
  return routed.world.query(asked, { signal: goneSignal(routed.response) });
}

async function setFault({ world, request }: Routed): Promise<WorldReply> {
  const fault = await readBody(request);
  const { id } = world.fault(fault as unknown as Fault); // `fault()` reads every field of it
  return { kind: "answer", status: 201, body: { id } };
}

function endFault(world: FakeWorld, id: string | undefined): WorldReply {
  if (id === undefined) world.clearFaults();
  else if (!world.removeFault(id)) throw new WorldRefusal(404, "not_found", `there is no fault "${id}"`);
  return ok({});
}

function endHeld(world: FakeWorld, id: string, verb: "release" | "drop"): WorldReply {
  const isEnded = world.endHeld(id, verb === "release" ? "released" : "dropped");
  if (!isEnded) throw new WorldRefusal(404, "not_found", `no call "${id}" is held`);
  return ok({});
}

function stream({ world, response, streams, params }: Routed): Answer {
  if (streams.size >= maxEventStreams) throw new WorldRefusal(429, "too_many_streams", "too many readers of events");
  const after = Number(params.get("after") ?? 0);
  readInteger(after, "the parameter after", { min: 0, max: Number.MAX_SAFE_INTEGER });
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  const write = (event: unknown) => {
    response.write(`${JSON.stringify(event)}\n`);
    if (response.writableLength > maxUnreadBytes) response.destroy();
  };
  for (const event of world.eventsAfter(after)) write(event);
  const unsubscribe = world.subscribe(write);
  streams.add(response);
  response.once("close", () => {
    unsubscribe();
    streams.delete(response);
  });
  return { kind: "streaming" };
}

function callerOf(request: IncomingMessage): WorldCaller {
  const run = header(request, "x-reprise-run");
  const step = header(request, "x-reprise-step");
  const worker = header(request, "x-reprise-worker");
  return {
    ...(run === undefined ? {} : { run }),
    ...(step === undefined ? {} : { step }),
    ...(worker === undefined ? {} : { pid: Number(worker) }),
  };
}

function profileOf(params: URLSearchParams): { readonly profile?: ServiceProfile } {
  if (!params.has("effect")) return {};
  const given: Record<string, unknown> = { effect: params.get("effect") };
  const words: Readonly<Record<string, unknown>> = { true: true, false: false };
  const asked = params.get("query");
  if (asked !== null) given["query"] = Object.hasOwn(words, asked) ? words[asked] : asked;
  if (params.has("direction")) given["direction"] = params.get("direction");
  if (params.has("keyTtlMs")) given["keyTtlMs"] = Number(params.get("keyTtlMs"));
  return { profile: readProfile(given) };
}

/** A header as the client wrote it: in the letters that a header may hold, the others as in an address. */
function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  if (typeof value !== "string") return undefined;
  try {
    return decodeURI(value);
  } catch {
    throw new WorldRefusal(400, "bad_request", `the header ${name} is not percent-encoded text`);
  }
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
    throw new WorldRefusal(415, "json_only", "the body must be sent as application/json");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.maxBodyBytes) {
      throw new WorldRefusal(413, "too_large", `a body has at most ${limits.maxBodyBytes} bytes`);
    }
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new WorldRefusal(400, "bad_request", "the body is not JSON");
  }
  return readObject(body, "the body");
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableEnded) gone.abort();
  });
  return gone.signal;
}

function send(response: ServerResponse, reply: Answer): void {
  if (reply.kind === "streaming" || response.destroyed) return;
  if (reply.kind === "reset") {
    response.socket?.resetAndDestroy();
    return;
  }
  const body = JSON.stringify(reply.body);
  const length = Buffer.byteLength(body);
  response.writeHead(reply.status, { "content-type": "application/json", "content-length": length, ...reply.headers });
  response.end(body);
}

function problem(error: unknown): WorldReply {
  if (error instanceof WorldRefusal) {
    return { kind: "answer", status: error.status, body: { code: error.code, message: error.message } };
  }
  return { kind: "answer", status: 500, body: { code: "world_defect", message: String(error) } };
}

function ok(body: JsonObject): WorldReply {
  return { kind: "answer", status: 200, body };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port); // a server that listens on a port has such an address
    });
  });
}
