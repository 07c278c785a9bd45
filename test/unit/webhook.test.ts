/** Telling something to a webhook, once. */
import { getEventListeners, once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { systemClock } from "../../src/engine/index.ts";
import { createSupervisor } from "../../src/index.ts";
import { hooksOf } from "../../src/orchestrator/notify.ts";
import { webhook } from "../../src/supervisor/index.ts";
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
  expect(answers.map((answer) => answer?.status)).toEqual([undefined, 410, 500, 302]);
});

test("an alert that is answered by a redirect is final, and is not sent again", async () => {
  let asked = 0;
  const url = await receiver((_, response) => {
    asked += 1;
    response.writeHead(301, { location: "/elsewhere" }).end();
  });
  const troubles: string[] = [];
  const onTrouble = (error: unknown) => void troubles.push(String(error));
  const hook = webhook({ url, secret: null, clock: systemClock, onTrouble, againMs: 1 });
  hook.send("a-1", {});
  await hook.stop(5_000);
  expect([asked, troubles]).toEqual([1, ["Error: the webhook did not take a-1: it answered 301"]]);
});

test("whoever waits between two tries leaves no listener behind", async () => {
  const signals: AbortSignal[] = [];
  const Noted = class extends AbortController {
    constructor() {
      super();
      signals.push(this.signal);
    }
  };
  vi.stubGlobal("AbortController", Noted);
  onTestFinished(() => void vi.unstubAllGlobals());
  const url = await receiver((_, response) => response.writeHead(500).end());
  const hook = webhook({ url, secret: null, clock: systemClock, onTrouble: () => undefined, againMs: 0 });
  const [signal] = signals;
  hook.send("a-1", {});
  await hook.stop(5_000);
  expect(signal?.aborted).toBe(false);
  expect(getEventListeners(signal as AbortSignal, "abort")).toEqual([]);
});

describe("where a hook is said to be", () => {
  const codeOf = (notify: Parameters<typeof hooksOf>[0]): string | null => {
    try {
      hooksOf(notify);
      return null;
    } catch (error) {
      return String(error);
    }
  };

  test("what can never be sent to is refused at once, and no password of it is told", () => {
    for (const url of ["ftp://h/", "http://", "http://a b/", "https://ann:hunter2@h/hook", "https://ann@h/"]) {
      expect(codeOf({ shop: { url } }), url).toMatch(/notify\.shop\.url is no http\(s\) URL without a password/);
      expect(codeOf({ shop: { url } })).not.toContain("hunter2");
      expect(() => readConfig({ REPRISE_ALERT_WEBHOOK: url }), url).toThrow(/REPRISE_ALERT_WEBHOOK(?!.*hunter2)/s);
      const supervised = { redis: "redis://127.0.0.1:1", sagas: [], webhook: { url } };
      expect(() => createSupervisor(supervised), url).toThrow(/webhook\.url is no http\(s\) URL without a password/);
    }
    expect(codeOf({ shop: { url: "https://h/hook?key=1" } })).toBeNull();
    expect(readConfig({ REPRISE_ALERT_WEBHOOK: "http://h:1/" }).alertWebhook).toBe("http://h:1/");
  });
});
