import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redact, redactValue } from "../../src/redact.ts";

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";

describe("a credential is masked, and what is around it stays", () => {
  test.each([
    ["401 for Bearer abc.DEF-123_~+/=, sent", "401 for Bearer [redacted], sent"],
    ["bearer x", "bearer [redacted]"],
    ["sent Basic dXNlcjpwYXNz twice", "sent Basic [redacted] twice"],
    ["Invalid API Key provided: sk_live_X", "Invalid API Key provided: [redacted]"],
    ["sk_test_4eC39HqLyjWDarjtT1zdp7dc!", "[redacted]!"],
    ["rk_live_abc and rk_9f8e7d6c5b", "[redacted] and [redacted]"],
    ["key_sk_live_abc", "key_[redacted]"],
    ["ghp_16C7e42F292c6912E7710c838347Ae178B4a.", "[redacted]."],
    ["github_pat_11ABC_xyz", "[redacted]"],
    ["xoxb-1234-abcd (slack)", "[redacted] (slack)"],
    ["AKIAIOSFODNN7EXAMPLE is unknown", "[redacted] is unknown"],
    ["sk-proj-abcdefghijklmnop", "[redacted]"],
    [`<${jwt}>`, "<[redacted]>"],
    ["connect redis://user:p@ss:w0rd@host:6379/0 failed", "connect redis://[redacted]@host:6379/0 failed"],
    ["https://ghtoken@github.com/a/b", "https://[redacted]@github.com/a/b"],
    ["GET /x?a=1&password=hunter2&b=2", "GET /x?a=1&password=[redacted]&b=2"],
    ["GET /x?access_token=abc%20d#f", "GET /x?access_token=[redacted]"],
    ['{"password":"hunter \\"2\\"","n":1}', '{"password":"[redacted]","n":1}'],
    ['{"apiKey": 12345, "n": 1}', '{"apiKey": [redacted], "n": 1}'],
    ['"{\\"client_secret\\":\\"a b\\",\\"n\\":1}"', '"{\\"client_secret\\":\\"[redacted]\\",\\"n\\":1}"'],
    ["{ authorization: 'Bearer abc', accept: 'x' }", "{ authorization: '[redacted]', accept: 'x' }"],
    ["Authorization: Bearer abc\r\nAccept: x", "Authorization: [redacted]\r\nAccept: x"],
    ["x-api-key: k1, accept: x", "x-api-key: [redacted], accept: x"],
    ["STRIPE_SECRET_KEY=abc NODE_ENV=test", "STRIPE_SECRET_KEY=[redacted] NODE_ENV=test"],
    ["Map(1) { 'token' => 'abc' }", "Map(1) { 'token' => '[redacted]' }"],
    ['cut off {"token":"abc def', 'cut off {"token":"[redacted]'],
  ])("%s", (text, shown) => {
    expect(redact(text)).toBe(shown);
  });
});

test.each([
  "",
  "503 from https://payments.example.com/v1/charges?order=o-1",
  "mail for a@example.com was refused; see https://example.com/help",
  "Bearer token expired",
  'WWW-Authenticate: Bearer realm="api"',
  "the basic plan has no refunds",
  "task_live_update of risk_test_1 failed after 3 attempts",
  "max_tokens: 500, tokens left: 3",
  "connect ECONNREFUSED 127.0.0.1:6379",
  "test/t/r1/charge/1: no answer within 3000 ms",
])("what is no credential stays: %s", (text) => {
  expect(redact(text)).toBe(text);
});

test("masking twice changes nothing more, whatever the text", () => {
  const pieces = fc.constantFrom(
    ..."token= password: Bearer Basic sk_live_ sk-abcdefghijklmnop rk_ ghp_ xoxb- AKIAABCDEFGHIJKL eyJabcde .".split(
      " ",
    ),
    ...[
      "://",
      "@",
      "/",
      '"',
      "'",
      "\\",
      " ",
      "\n",
      "=",
      ":",
      "[redacted]",
      "a",
      "Z9",
      ",",
      "{",
      "abcdef",
      "é",
      "realm=",
    ],
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 }))).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const once = redact(text);
      expect(redact(once)).toBe(once);
    }),
    { numRuns: 5_000 },
  );
});

test("no secret outlives its place, whatever stands before and after it", () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9]{12,40}$/);
  const around = fc.string({ unit: fc.constantFrom(..."aZ9 \n:=/&,.{}é") });
  const places = fc.constantFrom<(value: string) => string>(
    (value) => ` Bearer ${value} `,
    (value) => ` sk_live_${value} `,
    (value) => ` redis://me:${value}@host `,
    (value) => `?token=${value}&`,
    (value) => `{"password":"${value}"}`,
    (value) => `\nauthorization: Bearer ${value}\n`,
  );
  fc.assert(
    fc.property(around, places, secret, around, (before, place, value, after) => {
      expect(redact(`${before}${place(value)}${after}`)).not.toContain(value);
    }),
    { numRuns: 2_000 },
  );
});

test("a hostile text of 100 kB costs no more than a harmless one of that size, give or take", () => {
  const seeds = [
    ...'a \\ \' " = : @ / eyJ eyJaaaaa. eyJaaaaa.aaaaa. token token= token=" token=\' token=\\" password: bearer basic'.split(
      " ",
    ),
    ...[
      "://",
      "://a",
      "://a@",
      "Basic ",
      "Bearer  ",
      "token        ",
      "sk_live_",
      "rk_",
      "sk-",
      "AKIA",
      "ghp_-",
      '\\\\"',
    ],
  ];
  for (const seed of seeds) {
    for (const text of [
      seed.repeat(Math.ceil(100_000 / seed.length)),
      seed + "a".repeat(100_000),
      `${seed} `.repeat(25_000),
    ]) {
      const began = performance.now();
      redact(text);
      expect(performance.now() - began, seed).toBeLessThan(500); // a quadratic rule takes many seconds
    }
  }
});

test("a text of any length leaves a bounded one", () => {
  const text = `token="${"a".repeat(20_000_000)}`;
  expect(redact(text)).toBe('token="[redacted]');
  expect(redact("a".repeat(200_000))).toBe(`${"a".repeat(100_000)}…`);
});

test("as a replacer of JSON it masks texts, and whatever is called like a credential", () => {
  const facts = {
    n: 1,
    why: "Bearer abc",
    headers: { authorization: "x", accept: "y" },
    dbPassword: "p",
    pin: { token: 7 },
  };
  expect(JSON.parse(JSON.stringify(facts, redactValue))).toEqual({
    n: 1,
    why: "Bearer [redacted]",
    headers: { authorization: "[redacted]", accept: "y" },
    dbPassword: "[redacted]",
    pin: { token: "[redacted]" },
  });
});
