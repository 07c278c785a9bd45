/**
 * One request, carried out once: claimed in the registry of intents, answered, and the answer kept and replayed. Owns the
 * order of these and what is told apart: in progress, done, another request, unknown. The registry owns who has a claim.
 *
 * 1. `fn` is called only under an acknowledged claim, at most once a claim, and only while the claim can be trusted.
 * 2. A claim that was not answered is not repeated: only proof that nothing is left outside frees its key: `notApplied`,
 *    `fail`, or `recover` saying absent once the claim is over.
 * 3. The first answer kept is the answer of the key, whoever else comes late with another.
 */
import type { Clock, Ids, IntentOutcome, PublishIntentAnswer, Store } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { isStepError, type ProbeAnswer } from "../saga/index.ts";
import { type Call, callOf, keptAnswer } from "./call.ts";
import { answerInvalid, claimLost, conflict, inProgress, isUnavailable, unavailable, unknown } from "./errors.ts";
import { type Found, findOut, isOver } from "./find-out.ts";
import { insist, within } from "./insist.ts";
import type { IdempotencySettings } from "./settings.ts";

/** What `fn` is handed. */
export interface RequestContext {
  /** Aborted when the claim is over: an answer after that may find another one in its place. */
  readonly signal: AbortSignal;
}

/** An answer, and where it comes from. */
export interface Answered<Answer> {
  /** As JSON gives it back, the same for every caller of the key, the first one included. */
  readonly answer: Answer;
  /** `false`: `fn` was called for it just now. */
  readonly replayed: boolean;
}

export interface RequestOptions<Answer> {
  /** Keys of two tenants are two keys. `[A-Za-z0-9_.-]{1,64}`; `default` unless given. */
  readonly tenant?: string;
  /**
   * Asked when nobody knows whether an earlier request with this key took effect; looks it up on the other side and
   * changes nothing. `happened(answer)`: that is the answer from now on. `absent()`: `fn` is called; believed once
   * `claimFor` has passed since the earlier request. `cannotTell()`, or a throw: IDEMPOTENCY_UNKNOWN.
   */
  readonly recover?: ((key: string) => ProbeAnswer<Answer> | Promise<ProbeAnswer<Answer>>) | undefined;
}

/** Makes requests idempotent. Safe to share; connects when it is first used. */
export interface Idempotency {
  /**
   * The answer to the request with this key: what `fn` answers the first time, the same ever after, for the window.
   *
   * `key` is the caller's, 1 to 255 characters. `request` is what must be the same when the key comes again: any JSON
   * (the order of keys does not matter), only its hash is kept. What `fn` returns is JSON and is kept, an answer that says
   * "declined" too. What it throws is thrown, and says what is known: `notApplied(...)` and `fail(...)` free the key, as
   * nothing is left outside; after anything else nobody knows, and the key is not carried out again without `recover`.
   *
   * @throws RepriseError, each with `details.httpStatus`: IDEMPOTENCY_IN_PROGRESS (409), IDEMPOTENCY_CONFLICT (422: the key
   * came with another request), IDEMPOTENCY_UNKNOWN (500), IDEMPOTENCY_CLAIM_LOST (409: it took longer than `claimFor`),
   * IDEMPOTENCY_ANSWER_INVALID (500: carried out, but not JSON or too large), INPUT_INVALID and ID_INVALID (400),
   * STORE_UNAVAILABLE (503). Without it: STORE_FORGETFUL, STORE_EVICTS, SHARDS_MISMATCH, CLOSED.
   */
  run<Answer>(
    key: string,
    request: unknown,
    fn: (context: RequestContext) => Answer | Promise<Answer>,
    options?: RequestOptions<NoInfer<Answer>>,
  ): Promise<Answered<Answer>>;
  /** Takes no more requests, lets those under way end (for `claimFor` at most), and disconnects. */
  close(): Promise<void>;
}

export interface IdempotencyPorts {
  readonly store: Pick<Store, "open" | "close" | "durability" | "barrier" | "claimIntent" | "publishIntent">;
  readonly clock: Clock;
  readonly ids: Pick<Ids, "next">;
}

/** A caller waits so long for Redis to take a claim or an answer. */
const patienceMs = 5_000;
/** Claims of others that may come between a look at a claim and its replacement. */
const maxTurns = 5;

export function idempotencyOf(ports: IdempotencyPorts, settings: IdempotencySettings): Idempotency {
  return new KeptAnswers(ports, settings);
}

/** What a request needs to be carried out and to be found out about. */
interface Work<Answer> {
  readonly call: Call;
  readonly fn: (context: RequestContext) => Answer | Promise<Answer>;
  readonly recover: RequestOptions<Answer>["recover"];
}

class KeptAnswers implements Idempotency {
  readonly #ports: IdempotencyPorts;
  readonly #settings: IdempotencySettings;
  readonly #underWay = new Set<Promise<unknown>>();
  #opening: Promise<"always" | "barrier" | "forgetful"> | null = null;
  #closing: Promise<void> | null = null;

  constructor(ports: IdempotencyPorts, settings: IdempotencySettings) {
    this.#ports = ports;
    this.#settings = settings;
  }

  async run<Answer>(
    key: string,
    request: unknown,
    fn: (context: RequestContext) => Answer | Promise<Answer>,
    { tenant = "default", recover }: RequestOptions<Answer> = {},
  ): Promise<Answered<Answer>> {
    if (this.#closing !== null) throw new RepriseError("CLOSED", "this idempotency was closed");
    const call = callOf(key, request, tenant, this.#ports.ids.next());
    return await this.#own(this.#answer({ call, fn, recover }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { clock, store } = this.#ports;
    await within(clock, this.#settings.claimMs, Promise.all(this.#underWay)).catch(() => undefined);
    await store.close();
  }

  async #answer<Answer>(work: Work<Answer>): Promise<Answered<Answer>> {
    const { call } = work;
    const durability = await this.#opened().catch((error: unknown) => {
      throw isUnavailable(error) ? unavailable(call, false, error) : error;
    });
    let found: Found<Answer> | null = null;
    for (let turn = 1; ; turn += 1) {
      const claim = await this.#claim(call, found);
      switch (claim.answer) {
        case "DONE":
          // Kept by a call of the same key and request.
          return { answer: claim.outcome as Answer, replayed: true };
        case "CONFLICT":
          throw conflict(call, claim.argsHash);
        case "GONE":
          throw claimLost(call, false);
        case "MINE":
          if (found?.answer === "happened") return await this.#keep(call, found.output, true);
          if (durability === "barrier") await this.#madeDurable(call);
          return await this.#perform(work, claim.trustedUntil);
        case "BUSY":
          if (claim.state === "claimed" && !isOver(claim)) throw inProgress(call, claim);
          if (turn === maxTurns) throw unknown(call, claim, "others are finding out");
          found = await findOut(call, claim, work.recover);
      }
    }
  }

  /** Opens the store once. Throws STORE_FORGETFUL where a claim could be forgotten, and its effect made again. */
  #opened(): Promise<"always" | "barrier" | "forgetful"> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<"always" | "barrier" | "forgetful"> {
    const { store } = this.#ports;
    await store.open();
    const durability = await store.durability();
    if (durability !== "forgetful" || this.#settings.allowForgetfulStore) return durability;
    throw new RepriseError(
      "STORE_FORGETFUL",
      "Redis may forget a claim it has acknowledged, and its request would be carried out again: set appendfsync always, " +
        "give a barrier, or accept it with allowForgetfulStore",
    );
  }

  /** Claims until it is answered. The claim can be trusted from when the request that was answered was sent. */
  async #claim(call: Call, found: Found<unknown> | null) {
    const { store, clock } = this.#ports;
    const { claimMs, unknownMs } = this.#settings;
    const { intent, owner, argsHash } = call;
    const replaces = found?.owner ?? null;
    let sentAt = 0;
    try {
      const answer = await insist(clock, Math.min(patienceMs, claimMs), () => {
        sentAt = clock.monotonicMs();
        return store.claimIntent({ intent, owner, argsHash, claimMs, keepMs: unknownMs, replaces, listens: false });
      });
      return { ...answer, trustedUntil: sentAt + claimMs };
    } catch (error) {
      // It may have landed all the same. Nothing was begun under it, but what it replaced may have happened.
      if (found?.answer !== "happened") this.#giveBack(call);
      throw isUnavailable(error) ? unavailable(call, false, error) : error;
    }
  }

  async #madeDurable(call: Call): Promise<void> {
    if (await this.#ports.store.barrier(this.#settings.barrierMs).catch(() => false)) return;
    this.#giveBack(call);
    throw unavailable(
      call,
      false,
      new RepriseError("STORE_UNAVAILABLE", "the claim could not be made durable in time"),
    );
  }

  async #perform<Answer>(work: Work<Answer>, trustedUntil: number): Promise<Answered<Answer>> {
    const { call } = work;
    const leftMs = trustedUntil - this.#ports.clock.monotonicMs();
    if (leftMs <= 0) {
      this.#giveBack(call);
      throw claimLost(call, false);
    }
    const over = new AbortController();
    const cancel = this.#ports.clock.after(leftMs, () => over.abort(tookTooLong()));
    try {
      return await this.#keep(call, await this.#called(work, over.signal), false);
    } finally {
      cancel();
    }
  }

  /** What `fn` answers; if it throws, what is known of its effect is published first. */
  async #called<Answer>({ call, fn }: Work<Answer>, signal: AbortSignal): Promise<Answer> {
    try {
      return await fn({ signal });
    } catch (error) {
      const isFree = isStepError(error) && error.knowledge === "not_applied";
      // Unpublished, the claim runs out and nobody knows: the caller still hears what `fn` threw.
      await this.#publish(call, { state: isFree ? "not_applied" : "unknown" }).catch(() => undefined);
      throw error;
    }
  }

  async #keep<Answer>(call: Call, answer: Answer, replayed: boolean): Promise<Answered<Answer>> {
    const kept = keptAnswer(answer, this.#settings.maxPayloadBytes);
    if (!kept.ok) {
      await this.#publish(call, { state: "unknown" }).catch(() => undefined);
      throw answerInvalid(call, kept.problem);
    }
    const { answer: published } = await this.#publish(call, { state: "succeeded", outcome: kept.value });
    if (published === "FENCED") throw claimLost(call, true);
    // It is `answer` as JSON gives it back.
    return { answer: kept.value as Answer, replayed };
  }

  /** Publishes until it is answered, as long as the claim lasts; the caller waits for a part of that. */
  async #publish(call: Call, became: IntentOutcome): Promise<PublishIntentAnswer> {
    const { store, clock } = this.#ports;
    const { windowMs, unknownMs, claimMs } = this.#settings;
    const { intent, owner } = call;
    const keepMs = became.state === "unknown" ? unknownMs : windowMs;
    const published = insist(clock, claimMs, () => store.publishIntent({ intent, owner, became, keepMs }));
    try {
      return await within(clock, patienceMs, this.#own(published));
    } catch (error) {
      throw isUnavailable(error) ? unavailable(call, true, error) : error;
    }
  }

  /** Nothing was begun under this claim, if it is one: nobody has to wait until it is over. */
  #giveBack(call: Call): void {
    this.#publish(call, { state: "withdrawn" }).catch(() => undefined);
  }

  /** What `close` waits for. */
  #own<Result>(work: Promise<Result>): Promise<Result> {
    const end = work.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(end);
    void end.then(() => this.#underWay.delete(end));
    return work;
  }
}

/** What `fetch` and its like reject with when `AbortSignal.timeout` is over: `fn` throws it on, and nobody knows. */
function tookTooLong(): DOMException {
  return new DOMException("the request took longer than claimFor", "TimeoutError");
}
