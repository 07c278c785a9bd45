/** The example's workers send their spans where OTEL_EXPORTER_OTLP_ENDPOINT says, as a viewer of traces takes them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { trace } from "@opentelemetry/api";
import { expect, onTestFinished, test, vi } from "vitest";
import { sendTraces } from "../../workers/traces.ts";

test("spans go out as OTLP, under the name of the process, and none is left behind at its end", async () => {
  const taken: { readonly url: string | undefined; readonly body: string }[] = [];
  const viewer = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    taken.push({ url: request.url, body: Buffer.concat(chunks).toString("utf8") });
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => viewer.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void viewer.close());
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${(viewer.address() as AddressInfo).port}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const end = sendTraces("shop-worker");
  trace.getTracer("test").startSpan("step charge").end();
  await end();
  expect(taken.map(({ url }) => url)).toEqual(["/v1/traces"]);
  expect(taken[0]?.body).toContain("shop-worker");
  expect(taken[0]?.body).toContain("step charge");
});
