import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";

/** No Docker engine is needed: the files are parsed and what they promise is looked up. */

const root = resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

interface Service {
  image: string;
  command: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  container_name?: string;
  depends_on?: Record<string, { condition: string }>;
  deploy?: { replicas: number };
  healthcheck?: { test: string[] };
  stop_grace_period?: string;
  init?: boolean;
  read_only?: boolean;
  cap_drop?: string[];
}

const compose = parse(read("docker-compose.yml"), { merge: true }) as {
  services: { redis: Service; world: Service; worker: Service; supervisor: Service };
  volumes: Record<string, unknown>;
};
const { redis, world, worker, supervisor } = compose.services;

/** One Dockerfile instruction: its name and everything after it. */
interface Instruction {
  readonly name: string;
  readonly value: string;
}

function instructions(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [name = "", ...rest] = line.split(" ");
    return { name, value: rest.join(" ") };
  });
}

const dockerfile = instructions(read("Dockerfile"));
const lastStage = dockerfile.slice(dockerfile.findLastIndex(({ name }) => name === "FROM"));
const inLastStage = (name: string) =>
  lastStage.filter((instruction) => instruction.name === name).map(({ value }) => value);

describe("docker-compose.yml", () => {
  test("its Redis syncs every write to a volume and never evicts", () => {
    const options = Object.fromEntries(
      redis.command.slice(1).flatMap((word, at, words) => (word.startsWith("--") ? [[word, words[at + 1]]] : [])),
    );
    expect(redis.command[0]).toBe("redis-server");
    expect(options).toEqual({
      "--appendonly": "yes",
      "--appendfsync": "always",
      "--maxmemory-policy": "noeviction",
      "--save": "",
    });
    const [volume, path] = redis.volumes![0]!.split(":");
    expect(path).toBe("/data");
    expect(Object.keys(compose.volumes)).toContain(volume);
  });

  test("nothing hinders `--scale worker=N`: no fixed name, no host port, and more than one from the start", () => {
    expect(worker.container_name).toBeUndefined();
    expect(worker.ports).toBeUndefined();
    expect(worker.deploy!.replicas).toBeGreaterThan(1);
  });

  test("a worker waits for a healthy Redis and for what its sagas call, and all say how they are", () => {
    const healthy = { condition: "service_healthy" };
    expect(worker.depends_on).toEqual({ redis: healthy, world: healthy });
    expect(world.healthcheck!.test.slice(0, 2)).toEqual(["CMD", "node"]);
    expect(redis.healthcheck!.test.join(" ")).toContain("redis-cli ping");
    expect(worker.healthcheck!.test.slice(0, 2)).toEqual(["CMD", "node"]);
  });

  test("the world listens where workers look for it, inside the network only", () => {
    const { hostname, port } = new URL(worker.environment!["WORLD_URL"]!);
    expect([hostname, port]).toEqual(["world", world.environment!["WORLD_PORT"]]);
    expect(world.environment!["WORLD_HOST"]).toBe("0.0.0.0");
    expect(world.ports).toBeUndefined();
  });

  test("a worker gets SIGTERM through an init process and two minutes to finish its calls", () => {
    expect(worker.init).toBe(true);
    expect(worker.stop_grace_period).toBe("120s");
  });

  test("the supervisor is one more process of the same image, beside a healthy Redis", () => {
    expect(supervisor.image).toBe(worker.image);
    expect(supervisor.environment!["REDIS_URL"]).toBe(worker.environment!["REDIS_URL"]);
    expect(supervisor.depends_on).toEqual({ redis: { condition: "service_healthy" } });
    expect(supervisor).toMatchObject({ init: true, read_only: true, cap_drop: ["ALL"] });
    expect(supervisor.healthcheck).toEqual(worker.healthcheck);
  });

  test("a worker has one address of Redis, the service beside it, writes to no disk and needs no capability", () => {
    expect(new URL(worker.environment!["REDIS_URL"]!).hostname).toBe("redis");
    expect(worker).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
  });
});

describe("Dockerfile", () => {
  test("dev tools and sources stay in earlier stages", () => {
    expect(dockerfile.filter(({ name }) => name === "FROM")).toHaveLength(3);
    expect(inLastStage("RUN")).toEqual([]);
    expect(dockerfile.map(({ value }) => value)).toContain("npm ci --omit=dev");
  });

  test("node itself is the entry, not as root, in production", () => {
    expect(inLastStage("ENTRYPOINT")).toEqual(['["node"]']);
    expect(inLastStage("USER")).toEqual(["node"]);
    expect(inLastStage("ENV")).toEqual(["NODE_ENV=production"]);
  });

  test("every path it copies from the context exists and is let through by .dockerignore", () => {
    const fromContext = dockerfile.filter(({ name, value }) => name === "COPY" && !value.startsWith("--from"));
    const paths = fromContext.flatMap(({ value }) => value.split(" ").slice(0, -1)).filter((path) => path !== ".");
    const letThrough = read(".dockerignore").split("\n");
    for (const path of new Set(paths)) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(letThrough).toContain(`!${path}`);
    }
  });
});
