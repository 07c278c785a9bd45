/**
 * The admin port of a process: what probes and scrapers ask. Owns the four paths and nothing about the answers: whoever opens it says
 * them. Invariants: A1 a question never waits longer than `answerWithinMs`: what is not known by then is a no. A2 it shows no secret
 * and changes nothing, so it asks for no password; it listens on loopback unless it is told otherwise.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { RepriseError } from "../errors.ts";
import { redact } from "../redact.ts";

export interface AdminPlace {
  /** 0: a free one. */
  readonly port: number;
  /** 127.0.0.1 unless given. */
  readonly host?: string | undefined;
}

export interface AdminAnswers {
  /** Has it started? Why not; `null`: it has. */
  started(): string | null;
  /** Why its process should be replaced; `null`: it lives. */
  death(): string | null;
  /** Why it does not serve; `null`: it does. */
  absence(): Promise<string | null>;
  metrics(): Promise<MetricsPage>;
}

export interface MetricsPage {
  readonly text: string;
  readonly contentType: string;
}

export interface Admin {
  /** Listens. Throws CONFIG_INVALID where the port is taken or not to be had, CLOSED after `close`. */
  open(): Promise<AdminAddress>;
  close(): Promise<void>;
}

export interface AdminAddress {
  readonly url: string;
  readonly port: number;
}

const answerWithinMs = 2_000;
const plain = "text/plain; charset=utf-8";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

export function adminServer(place: AdminPlace, answers: AdminAnswers): Admin {
  const server = createServer((request, response) => void respond(request, response, answers));
  // Nobody who asks slowly holds a connection.
  server.requestTimeout = 5_000;
  server.headersTimeout = 5_000;
  // One that listens may fail to accept somebody; an error that nobody hears would end the process.
  server.on("error", () => undefined);
  let opening: Promise<AdminAddress> | null = null;
  let isClosed = false;
  return {
    open: async () => {
      if (isClosed) throw new RepriseError("CLOSED", "this admin port was closed");
      opening ??= listen(server, place);
      return await opening;
    },
    close: async () => {
      isClosed = true;
      await opening?.catch(() => undefined);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, { port, host = "127.0.0.1" }: AdminPlace): Promise<AdminAddress> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "it is taken: choose another with REPRISE_ADMIN_PORT" : cause.message;
      reject(new RepriseError("CONFIG_INVALID", `the admin port ${host}:${port} cannot be opened: ${why}`, { cause }));
    });
    server.listen(port, host, () => {
      // A server that listens on a port has an address of that kind.
      const address = server.address() as AddressInfo;
      const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
      resolve({ url: `http://${shown}:${address.port}`, port: address.port });
    });
  });
}

async function respond(request: IncomingMessage, response: ServerResponse, answers: AdminAnswers): Promise<void> {
  const { status, text, contentType = plain } = await answerTo(request, answers);
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
  response.end(request.method === "HEAD" ? undefined : text);
}

async function answerTo({ method, url = "/" }: IncomingMessage, answers: AdminAnswers): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "GET only\n" };
  try {
    switch (url.split("?")[0]) {
      case "/startupz":
        return verdict(answers.started());
      case "/livez":
        return verdict(answers.death());
      case "/readyz":
        return verdict(await inTime(answers.absence()));
      case "/metrics":
        return { status: 200, ...(await inTime(answers.metrics())) };
      default:
        return { status: 404, text: "/livez /readyz /startupz /metrics\n" };
    }
  } catch (error) {
    return verdict(redact(error instanceof Error ? error.message : String(error)));
  }
}

function verdict(no: string | null): Answer {
  return no === null ? { status: 200, text: "ok\n" } : { status: 503, text: `${no}\n` };
}

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${answerWithinMs} ms`)), answerWithinMs);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
