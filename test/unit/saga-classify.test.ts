import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
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

describe("classifyHttp on the errors of undici inside fetch", () => {
  /** The agent that Node's fetch is built on, with limits so short that each is met. */
  async function impatient(): Promise<object> {
    await fetch("data:,").then((response) => response.text()); // fetch installs it when it is first used
    const installed = (globalThis as Record<symbol, unknown>)[Symbol.for("undici.globalDispatcher.1")];
    const Agent = (installed as object).constructor as new (options: object) => { destroy(): Promise<void> };
    const agent = new Agent({ headersTimeout: 50, bodyTimeout: 50, connect: { timeout: 50 } });
    onTestFinished(() => agent.destroy());
    return agent;
  }
  const post = { method: "POST", body: "x" } as const;
  const using = (dispatcher: object): object => ({ dispatcher }); // no type of Node's knows it

  test("no head in time: unknown", async () => {
    const url = await listen(createServer(() => {}));
    const error = await errorOf(fetch(url, { ...post, ...using(await impatient()) }));
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown", code: "UND_ERR_HEADERS_TIMEOUT" });
  });

  test("no body in time: unknown", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    const url = await listen(createServer((socket) => socket.once("data", () => socket.write(head))));
    const response = await fetch(url, { ...post, ...using(await impatient()) });
    const error = await errorOf(response.text());
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown", code: "UND_ERR_BODY_TIMEOUT" });
  });

  test("no connection in time: not applied", async () => {
    const url = await listen(createServer(() => {})); // a TLS handshake is part of connecting
    const error = await errorOf(fetch(url.replace("http:", "https:"), { ...post, ...using(await impatient()) }));
    expect(classifyHttp(error)).toMatchObject({ knowledge: "not_applied", code: "UND_ERR_CONNECT_TIMEOUT" });
  });

  test("a reset while a large request is still being sent: unknown", async () => {
    const url = await listen(createServer((socket) => socket.once("data", () => socket.resetAndDestroy())));
    const error = await errorOf(fetch(url, { method: "POST", body: "x".repeat(5_000_000) }));
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown" });
  });

  test("an abort in the middle of a body: unknown", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart";
    const url = await listen(createServer((socket) => socket.once("data", () => socket.write(head))));
    const controller = new AbortController();
    const response = await fetch(url, { ...post, signal: controller.signal });
    const body = errorOf(response.text());
    controller.abort(new DOMException("too slow", "TimeoutError"));
    const error = await body;
    expect(classifyHttp(error)).toEqual({ knowledge: "unknown", code: "TimeoutError", retryAfterMs: null });
  });

  test("an answer that is not HTTP: unknown", async () => {
    const url = await listen(createServer((socket) => socket.once("data", () => socket.write("what?\r\n\r\n"))));
    expect(classifyHttp(await errorOf(fetch(url, post)))).toMatchObject({
      knowledge: "unknown",
      code: expect.stringMatching(/^HPE_/),
    });
  });

  test("TLS spoken to a plain server: unknown", async () => {
    const url = await listen(createHttpServer((_request, response) => response.end()));
    const error = await errorOf(fetch(url.replace("http:", "https:"), post));
    expect(classifyHttp(error)).toMatchObject({ knowledge: "unknown", code: "ERR_SSL_WRONG_VERSION_NUMBER" });
  });

  test("a certificate that proves nothing: not applied, and the server has read no request", async () => {
    let requests = 0;
    const server = createHttpsServer(selfSigned, (_request, response) => {
      requests += 1;
      response.end();
    });
    const url = await listen(server);
    const error = await errorOf(fetch(url.replace("http:", "https:"), post));
    expect(classifyHttp(error)).toMatchObject({ knowledge: "not_applied", code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(requests).toBe(0);
  });

  test("a redirect that is not followed: unknown; one that is followed hides who had refused", async () => {
    const location = await refusedUrl();
    let requests = 0;
    const url = await listen(
      createHttpServer((_request, response) => {
        requests += 1;
        response.writeHead(303, { location }).end();
      }),
    );
    const told = await errorOf(fetch(url, { ...post, redirect: "error" }));
    expect(classifyHttp(told)).toMatchObject({ knowledge: "unknown" });
    const followed = await errorOf(fetch(url, post));
    expect([classifyHttp(followed).code, requests]).toEqual(["ECONNREFUSED", 2]);
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

  test("whatever went wrong while it was being connected: not applied; the same later: unknown", () => {
    const failed = (code: string, syscall: string) =>
      new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code, syscall }) });
    for (const code of ["ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "ECONNRESET"]) {
      expect(classifyHttp(failed(code, "connect"))).toMatchObject({ knowledge: "not_applied", code });
      expect(classifyHttp(failed(code, "read"))).toMatchObject({ knowledge: "unknown", code });
    }
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

/** For nobody but these tests: made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes`. */
const selfSigned = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg68xpNUSMgXxlRA7C
s9iGAqdYCfnWGi2F3qZjkpKLWwOhRANCAASzyLaVlNT36/l8g1gsrE/TKdbT5/ts
dcflqhYXu5cu+8eFQ5xIBRwN0/DOQajmdr0LcN/ZjVne+ajho7gb3lEs
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUX389tXPXsWxgjr0C8tGTXKY24jwwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDA3NTcxOVoYDzIxMjYxMTA2
MDc1NzE5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASzyLaVlNT36/l8g1gsrE/TKdbT5/tsdcflqhYXu5cu+8eFQ5xIBRwN
0/DOQajmdr0LcN/ZjVne+ajho7gb3lEso1MwUTAdBgNVHQ4EFgQUAyAUvFH9OUs3
XqBuytkIajXOMwcwHwYDVR0jBBgwFoAUAyAUvFH9OUs3XqBuytkIajXOMwcwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAq5MbtBkuZF9+mF4MnXoD
Y2XbIE3TzcocFzu2sNcBB9kCIQCH5qF7cbaf8QtFF1893fau33B5aBrORu1Jknct
x9esnQ==
-----END CERTIFICATE-----`,
};
