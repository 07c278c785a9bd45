import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { classifyHttp, fail, transient } from "../../src/saga/index.ts";

/** Listens on a free port until the test has finished, whatever connections are left. */
async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return urlOf(server);
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect.unreachable("the call should have failed"),
    (error: unknown) => error,
  );
}

/** A port on which nobody listens (any more). */
async function refusedUrl(): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = urlOf(server);
  server.close();
  await once(server, "close");
  return url;
}

describe("classifyHttp on the errors of the real fetch", () => {
  test("a refused connection: not applied", async () => {
    const error = await errorOf(fetch(await refusedUrl()));
    expect(error).toBeInstanceOf(TypeError);
    expect(classifyHttp(error)).toEqual({ knowledge: "not_applied", code: "ECONNREFUSED", retryAfterMs: null });
  });

  test("a name that does not resolve: not applied", async () => {
    const error = await errorOf(fetch("http://does-not-exist.invalid/"));
    expect(classifyHttp(error)).toMatchObject({
      knowledge: "not_applied",
      code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
    });
  });

  test("a connection closed after the request was read: unknown", async () => {
    const url = await listen(createServer((socket) => socket.once("data", () => socket.end())));
    const error = await errorOf(fetch(url, { method: "POST", body: "x" }));
    expect(error).toBeInstanceOf(TypeError);
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown", code: "UND_ERR_SOCKET" });
  });

  test("a connection reset after the request was read: unknown", async () => {
    const url = await listen(createServer((socket) => socket.once("data", () => socket.resetAndDestroy())));
    const error = await errorOf(fetch(url, { method: "POST", body: "x" }));
    expect(classifyHttp(error)).toMatchObject({
      knowledge: "unknown",
      code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
    });
  });

  test("a body cut off after its head (`terminated`): unknown", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    const url = await listen(createServer((socket) => socket.once("data", () => socket.end(head))));
    const response = await fetch(url);
    const error = await errorOf(response.text());
    expect(error).toHaveProperty("message", "terminated");
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown" });
  });

  test("an abort and a time-out while the other side is silent: unknown", async () => {
    const url = await listen(createServer(() => {}));
    const aborted = await errorOf(fetch(url, { signal: AbortSignal.abort() }));
    expect(classifyHttp(aborted)).toEqual({ knowledge: "unknown", code: "AbortError", retryAfterMs: null });
    const timedOut = await errorOf(fetch(url, { signal: AbortSignal.timeout(20) }));
    expect(classifyHttp(timedOut)).toEqual({ knowledge: "unknown", code: "TimeoutError", retryAfterMs: null });
  });

  test("a status as its response carries it: thrown by hand, with the real headers", async () => {
    const url = await listen(
      createHttpServer((_request, response) => response.writeHead(429, { "retry-after": "7" }).end()),
    );
    const response = await fetch(url);
    await response.arrayBuffer();
    expect(classifyHttp(Object.assign(new Error("limited"), { response }))).toEqual({
      knowledge: "not_applied",
      code: "http_429",
      retryAfterMs: 7_000,
    });
  });
});

describe("classifyHttp by code and status", () => {
  test("several addresses tried, all refused: not applied; one of them reset: unknown", () => {
    const refused = Object.assign(new Error("a"), { code: "ECONNREFUSED" });
    const reset = Object.assign(new Error("b"), { code: "ECONNRESET" });
    const failed = (errors: readonly Error[]) =>
      new TypeError("fetch failed", { cause: Object.assign(new AggregateError(errors), { code: "ECONNREFUSED" }) });
    expect(classifyHttp(failed([refused, refused]))).toMatchObject({ knowledge: "not_applied" });
    expect(classifyHttp(failed([refused, reset]))).toMatchObject({ knowledge: "unknown" });
  });

  test("a connection that timed out before it stood: not applied", () => {
    expect(classifyHttp(new TypeError("fetch failed", { cause: { code: "UND_ERR_CONNECT_TIMEOUT" } }))).toMatchObject({
      knowledge: "not_applied",
    });
  });

  test.each([400, 401, 403, 404, 410, 412, 422, 429])("%i: not applied", (status) => {
    expect(classifyHttp({ status })).toMatchObject({ knowledge: "not_applied", code: `http_${status}` });
  });

  test.each([408, 409, 500, 502, 503, 504])("%i: unknown", (status) => {
    expect(classifyHttp({ statusCode: status })).toMatchObject({ knowledge: "unknown", code: `http_${status}` });
    expect(classifyHttp({ response: { status } })).toMatchObject({ knowledge: "unknown" });
  });

  test("Retry-After is read from a Headers object or a plain record, as seconds or as a date", () => {
    const date = "Wed, 21 Oct 2015 07:28:00 GMT";
    const nowMs = Date.parse("Wed, 21 Oct 2015 07:27:30 GMT");
    expect(classifyHttp({ status: 429, headers: new Headers({ "Retry-After": "2" }) }).retryAfterMs).toBe(2_000);
    expect(classifyHttp({ status: 503, headers: { "Retry-After": "2" } }).retryAfterMs).toBe(2_000);
    expect(classifyHttp({ response: { status: 429, headers: { "retry-after": ["3"] } } }).retryAfterMs).toBe(3_000);
    expect(classifyHttp({ status: 429, headers: { "retry-after": date } }, nowMs).retryAfterMs).toBe(30_000);
    expect(classifyHttp({ status: 429, headers: { "retry-after": date } }, nowMs + 60_000).retryAfterMs).toBe(0);
  });

  test("a Retry-After that cannot be understood is ignored", () => {
    const date = "Wed, 21 Oct 2015 07:28:00 GMT";
    expect(classifyHttp({ status: 429, headers: { "retry-after": date } }).retryAfterMs).toBeNull();
    expect(classifyHttp({ status: 429, headers: { "retry-after": "soon" } }, 0).retryAfterMs).toBeNull();
    expect(classifyHttp({ status: 429, headers: {} }).retryAfterMs).toBeNull();
    expect(classifyHttp({ status: 429 }).retryAfterMs).toBeNull();
    expect(classifyHttp({ status: 400, headers: { "retry-after": "2" } }).retryAfterMs).toBeNull();
  });

  test("one of our own errors says it itself, also as a cause", () => {
    expect(classifyHttp(fail("declined", { code: "declined" }))).toMatchObject({
      knowledge: "not_applied",
      code: "declined",
    });
    const wrapped = new Error("outer", { cause: transient("busy", { retryAfter: "1s" }) });
    expect(classifyHttp(wrapped)).toEqual({ knowledge: "unknown", code: null, retryAfterMs: 1_000 });
  });

  test.each([
    undefined,
    null,
    "oops",
    7,
    {},
    new Error("x"),
    new TypeError("fetch failed"),
    { status: 200 },
    { status: "404" },
  ])("%s says nothing: unknown", (error) => {
    expect(classifyHttp(error)).toEqual({ knowledge: "unknown", code: null, retryAfterMs: null });
  });

  test("a chain of causes that leads in a circle ends", () => {
    const error: Error & { cause?: unknown } = new Error("x");
    error.cause = error;
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown" });
  });
});
