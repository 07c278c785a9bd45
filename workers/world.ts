/**
 * The world outside, as a process of its own: it is never killed, so that what it wrote can bear witness.
 * `world.ts --file <new file> [--port <number>] [--host <address>]`, or WORLD_FILE, WORLD_PORT, WORLD_HOST. Prints its address as one JSON line.
 */
import { parseArgs } from "node:util";
import { FakeWorld, serveFakeWorld } from "reprise/testing";

function settings(): { readonly file?: string; readonly port: number; readonly host: string } {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { file: text, port: text, host: text } });
  const file = values.file ?? process.env["WORLD_FILE"];
  const host = values.host ?? process.env["WORLD_HOST"] ?? "127.0.0.1";
  const port = Number(values.port ?? process.env["WORLD_PORT"] ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error("the port must be a number up to 65535");
  return file === undefined ? { port, host } : { port, host, file };
}

async function main(): Promise<void> {
  const { port, host, ...options } = settings();
  const world = new FakeWorld(options);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve());
    process.once("disconnect", () => resolve()); // whoever started it with IPC is gone
  });
  const server = await serveFakeWorld(world, { port, host });
  console.log(JSON.stringify({ event: "listening", url: server.url, pid: process.pid, ...options }));
  await stopped;
  await server.close();
  world.close();
}

main()
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  })
  .finally(() => process.connected && process.disconnect());
