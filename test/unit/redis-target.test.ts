import { describe, expect, test } from "vitest";
import { masked, placeOf, readTarget } from "../../src/redis/target.ts";

describe("where Redis is", () => {
  test("a host, with port, database, user and password", () => {
    expect(readTarget("redis://localhost")).toMatchObject({ hosts: [{ host: "localhost", port: 6379 }], db: 0 });
    expect(readTarget("rediss://ann:p%40ss@h:7000/3")).toEqual({
      hosts: [{ host: "h", port: 7000 }],
      socketPath: null,
      isCluster: false,
      sentinel: null,
      usesTls: true,
      username: "ann",
      password: "p@ss",
      db: 3,
    });
    expect(readTarget("redis://:secret@h")).toMatchObject({ username: null, password: "secret" });
    expect(readTarget("redis://[::1]:7000")).toMatchObject({ hosts: [{ host: "::1", port: 7000 }] });
  });

  test("a socket", () => {
    expect(readTarget("unix:///run/redis.sock")).toMatchObject({ socketPath: "/run/redis.sock", hosts: [], db: 0 });
    expect(readTarget("unix://:secret@/run/redis.sock?db=2")).toMatchObject({ password: "secret", db: 2 });
  });

  test("a cluster, by one seed or by several", () => {
    expect(readTarget("redis://a:1?cluster=true")).toMatchObject({ isCluster: true, hosts: [{ host: "a", port: 1 }] });
    const three = readTarget("redis://:secret@a:1,b,c:3?cluster=true");
    expect(three.hosts).toEqual([
      { host: "a", port: 1 },
      { host: "b", port: 6379 },
      { host: "c", port: 3 },
    ]);
    expect(placeOf(three)).toBe("redis://a:1,b:6379,c:3");
  });

  test("sentinels, and what they call the primary", () => {
    expect(readTarget("rediss+sentinel://ann:p%40ss@a,b:5000/my%20one/2?sentinelPassword=other")).toEqual({
      hosts: [
        { host: "a", port: 26_379 },
        { host: "b", port: 5_000 },
      ],
      socketPath: null,
      isCluster: false,
      sentinel: { name: "my one", username: null, password: "other" },
      usesTls: true,
      username: "ann",
      password: "p@ss",
      db: 2,
    });
    expect(placeOf(readTarget("redis+sentinel://:secret@a,b/main"))).toBe("redis+sentinel://a:26379,b:26379/main");
  });

  test("what is none is refused by CONFIG_INVALID, and no message shows the password", () => {
    const wrong = [
      "http://:secret@h",
      "redis://:secret@",
      "redis://:secret@a,b",
      "redis://:secret@a:99999",
      "redis://:secret@a/1?cluster=true",
      "unix://:secret@",
      "redis://%zz:secret@h",
      "redis+sentinel://:secret@a,b",
      "redis+sentinel://:secret@a:99999/main",
      "redis+sentinel://:secret@a/main?cluster=true",
      "redis+sentinel://a/main/x?sentinelPassword=secret",
    ];
    for (const url of wrong) {
      const error = caught(() => readTarget(url));
      expect(error).toMatchObject({ code: "CONFIG_INVALID" });
      expect(JSON.stringify([error.message, error.details])).not.toContain("secret");
    }
  });

  test("a URL is shown without its password", () => {
    expect(masked("redis://ann:p:w@h:1/0")).toBe("redis://ann:***@h:1/0");
    expect(masked("redis://h:1")).toBe("redis://h:1");
  });
});

function caught(work: () => unknown): Error & { readonly details?: unknown } {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
