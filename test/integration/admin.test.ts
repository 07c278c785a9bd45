/** The admin port of a worker, as probes and scrapers find it. */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { order } from "../../sagas/index.ts";
import { type AdminAddress, createWorker } from "../../src/index.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { top, until } from "./top.ts";

/** Where a worker listens, from its start on. */
function listening() {
  let open: (address: AdminAddress) => void = () => undefined;
  const address = new Promise<AdminAddress>((resolve) => {
    open = resolve;
  });
  const ask = async (path: string, method = "GET") => {
    const response = await fetch(`${(await address).url}${path}`, { method });
    return { status: response.status, text: await response.text(), type: response.headers.get("content-type") };
  };
  return { options: { port: 0, onOpen: (where: AdminAddress) => open(where) }, address, ask };
}

test("a worker says that it lives, serves and how it is, on loopback, until it has stopped", async () => {
  const { worker, namespace } = top([order]);
  const { options, address, ask } = listening();
  const started = await worker({ admin: options });
  expect((await address).url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await until(async () => (await ask("/readyz")).status === 200);
  expect(await ask("/livez")).toMatchObject({ status: 200, text: "ok\n" });
  expect(await ask("/startupz")).toMatchObject({ status: 200 });
  const metrics = await ask("/metrics");
  expect(metrics.type).toContain("version=0.0.4");
  expect(metrics.text).toContain(`reprise_worker_state{reprise_ns="${namespace}",state="ready"} 1\n`);
  expect(metrics.text).toMatch(/reprise_canary_age_seconds\{.*\} 0(\.\d+)?\n/);
  expect(metrics.text).not.toMatch(/reprise_supervisor_age_seconds\{/);
  expect((await ask("/")).status).toBe(404);
  expect((await ask("/livez", "POST")).status).toBe(405);
  expect(await ask("/livez", "HEAD")).toMatchObject({ status: 200, text: "" });
  const { port } = await address;
  await started.stop();
  await expect(answers(port)).resolves.toBe(false);
});

test("a page of another registry is shown with it, and still ends where its format says so", async () => {
  const { worker } = top([order]);
  const { options, ask } = listening();
  const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  const metrics = async () => ({ text: "# TYPE mine counter\nmine_total 3\n# EOF\n", contentType });
  await worker({ admin: { ...options, metrics } });
  const { text, type } = await ask("/metrics");
  expect(type).toBe(contentType);
  expect(text).toMatch(/^# TYPE mine counter\nmine_total 3\n/);
  expect(text.indexOf("# EOF")).toBe(text.length - "# EOF\n".length);
});

test("while Redis is away it lives and does not serve; while it drains it does not serve", async () => {
  const server = await startRedisServer();
  onTestFinished(() => server.stop());
  const { options, ask } = listening();
  const facts = { emit: () => undefined };
  const settings = { shutdownMs: 1_000 };
  const worker = createWorker({
    redis: server.url,
    sagas: [order],
    admin: options,
    facts,
    settings,
    allowForgetfulStore: true,
  });
  onTestFinished(() => worker.stop());
  await worker.start();
  await until(async () => (await ask("/readyz")).status === 200);
  await server.kill();
  const away = await until(async () => {
    const answer = await ask("/readyz");
    return answer.status === 503 ? answer : null;
  });
  expect(away.text).toContain("Redis");
  expect(await ask("/livez")).toMatchObject({ status: 200 });
  await server.restart();
  await until(async () => (await ask("/readyz")).status === 200, 15_000);
});

test("a port that is taken is refused as configuration, naming it", async () => {
  const { worker } = top([order]);
  const { options, address } = listening();
  await worker({ admin: options });
  const { port } = await address;
  await expect(worker({ admin: { port } })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(String(port)),
  });
});

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}
