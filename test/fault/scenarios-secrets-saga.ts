/** A saga whose steps let secrets slip wherever user code can put a text: errors, their causes, probes, log lines. */
import { z } from "zod";
import { cannotTell, fail, notApplied, saga, step } from "../../src/index.ts";

/** What must be found nowhere afterwards. Put together, so that it stands in no file either. */
export const secrets = {
  key: ["sk", "live", "4eC39HqLyjWDarjtT1zdp7dc"].join("_"),
  bearer: ["bt", "7Fq2xWmP0aZr"].join("-"),
  password: ["hunter", "2x"].join(""),
} as const;

const said = `401: Authorization: Bearer ${secrets.bearer} (key ${secrets.key}) at redis://me:${secrets.password}@db`;

/** As an HTTP client throws it. */
function httpError(): Error {
  const headers = { authorization: `Bearer ${secrets.bearer}`, "x-api-key": secrets.key };
  const cause = Object.assign(new Error(`the cause: ${said}`), { config: { headers } });
  return Object.assign(new Error(said, { cause }), { config: { headers }, request: { headers }, code: secrets.key });
}

const Leak = z.object({ id: z.string(), how: z.enum(["throws", "cannot_tell", "fails", "invalid"]) });
export type Leak = z.infer<typeof Leak>["how"];

const charge = step("charge", {
  input: Leak,
  output: z.object({
    ref: z.string().refine(() => {
      throw httpError();
    }),
  }),
  effect: "once",
  action: ({ input: { how }, attempt, log }) => {
    log.error(`it failed: ${said}`, { headers: { authorization: `Bearer ${secrets.bearer}` }, why: said });
    if (how === "fails" && attempt === 1) throw notApplied(said, { code: secrets.key, cause: httpError() });
    if (how === "fails") throw fail(said, { code: secrets.key, cause: httpError() });
    if (how === "invalid") return { ref: "r" };
    throw httpError();
  },
  probe: ({ input: { how } }) => {
    if (how === "throws") throw httpError();
    return cannotTell(said);
  },
  noCompensation: "a test",
  retry: { attempts: 2, initial: 10, max: 10 },
  timeout: "500ms",
  lateness: "100ms",
});

export const leaky = saga("leaky", { version: 1, input: Leak })
  .step(charge, ({ input }) => input)
  .build();
