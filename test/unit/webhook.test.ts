/** Telling something to a webhook, once. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { post } from "../../src/webhook/index.ts";

setFlagsFromString("--expose_gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function receiver(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const word = { id: "w-1", body: "{}" };
const nobody = new AbortController().signal;

test("a receiver that hangs is given up in time, though garbage is collected meanwhile", async () => {
  const url = await receiver(() => undefined);
  const collecting = setInterval(collectGarbage, 10);
  onTestFinished(() => clearInterval(collecting));
  expect(await post({ url, secret: null }, word, nobody, 300)).toEqual({
    why: expect.stringContaining("300 ms"),
    status: "late",
  });
}, 5_000);

test("what is cut off is told as such, before it was sent and after", async () => {
  const cut = new AbortController();
  const url = await receiver(() => cut.abort(new Error("the worker stops")));
  expect(await post({ url, secret: null }, word, cut.signal)).toEqual({ why: "the worker stops", status: null });
  expect(await post({ url, secret: null }, word, cut.signal)).toEqual({ why: "the worker stops", status: null });
});

test("a 2xx is taken; anything else is told with its status, a redirect is not followed", async () => {
  const url = await receiver(({ url: path = "" }, response) => {
    const status = Number(path.slice(1));
    response.writeHead(status, status === 302 ? { location: "/204" } : {}).end();
  });
  const answers = await Promise.all(
    [204, 410, 500, 302].map((status) => post({ url: `${url}${status}`, secret: "s" }, word, nobody)),
  );
  expect(answers.map((answer) => answer?.status)).toEqual([undefined, 410, 500, null]);
});
