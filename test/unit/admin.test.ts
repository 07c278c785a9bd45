/** The admin port by itself: nothing said there is a secret, and neither its end nor an error of its own outlasts it. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { type AdminAnswers, adminServer } from "../../src/admin/index.ts";

const answers: AdminAnswers = {
  started: () => null,
  death: () => null,
  absence: async () => null,
  metrics: async () => ({ text: "", contentType: "text/plain" }),
};

function port(given: Partial<AdminAnswers> = {}) {
  const admin = adminServer({ port: 0 }, { ...answers, ...given });
  onTestFinished(() => admin.close());
  return admin;
}

test("why something failed is said without what looks like a credential", async () => {
  const fail = () => Promise.reject(new Error("connect redis://:hunter2@redis:6379 password=hunter2"));
  const { url } = await port({ absence: fail, metrics: fail }).open();
  for (const path of ["/readyz", "/metrics"]) {
    const response = await fetch(`${url}${path}`);
    const text = await response.text();
    expect([response.status, text]).toEqual([503, expect.stringContaining("redis:6379")]);
    expect(text).not.toContain("hunter2");
  }
});

test("once it is closed it is not opened again, whoever was about to", async () => {
  const admin = port();
  await admin.close();
  await expect(admin.open()).rejects.toMatchObject({ code: "CLOSED" });
  await admin.close();
});

test("a listening socket that fails, and fails again, takes nobody down", async () => {
  const servers = new Set<Server>();
  const note = (message: unknown) => void servers.add((message as { readonly server: Server }).server);
  subscribe("http.server.request.start", note);
  onTestFinished(() => void unsubscribe("http.server.request.start", note));
  const { url } = await port().open();
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  const [server] = servers;
  for (const code of ["ENOBUFS", "ENOMEM"]) server?.emit("error", Object.assign(new Error(`accept ${code}`), { code }));
  expect(servers.size).toBe(1);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});
