/**
 * Owns: what has changed outside, and therefore what a repeat, a question or an undoing is answered.
 *
 * Invariants
 * 1. Every change is one `effect` line of the journal, written before it is remembered.
 * 2. A `keyed` operation changes something at most once while its key is remembered; a `once` operation each time.
 * 3. An effect is undone at most once.
 */
import { type JsonObject, WorldRefusal } from "./input.ts";
import { type Journal, operationKey, type WorldArrival } from "./journal.ts";
import { type ActionProfile, assertArgs } from "./services.ts";

export interface Operation {
  readonly arrival: WorldArrival;
  readonly profile: ActionProfile;
}

export interface Applied {
  readonly ref: string;
  readonly argsHash: string;
  readonly result: JsonObject;
  readonly atMs: number;
  undone: boolean;
}

export class Effects {
  readonly #journal: Journal;
  readonly #now: () => number;
  readonly #byKey = new Map<string, Applied>();
  readonly #byOperation = new Map<string, Applied>();
  readonly #byRef = new Map<string, Applied>();
  #count = 0;

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  /** The effect that `operation` would only repeat. */
  known(operation: Operation): Applied | undefined {
    const { profile } = operation;
    if (profile.effect === "none" || profile.effect === "once") return undefined;
    const applied = this.#byKey.get(repeatKey(operation));
    if (applied === undefined) return undefined;
    // What was taken back is not there any more: a repeat of an idempotent action makes it anew. A key is remembered.
    if (profile.effect === "idempotent" && applied.undone) return undefined;
    const isForgotten = profile.keyTtlMs !== undefined && this.#now() - applied.atMs >= profile.keyTtlMs;
    return isForgotten ? undefined : applied;
  }

  /** Carries an operation out and gives its answer, or refuses it. */
  apply(operation: Operation): JsonObject {
    const { arrival, profile } = operation;
    assertArgs(profile, arrival.args);
    if (profile.effect === "none") return { operationId: arrival.operationId };
    const known = this.known(operation);
    if (known !== undefined) return this.#repeat(operation, known);
    const undone = this.#toUndo(operation);
    const applied = this.#record(operation);
    if (undone !== undefined) undone.undone = true;
    return applied.result;
  }

  find(of: { readonly service: string; readonly action: string; readonly operationId: string }): Applied | undefined {
    return this.#byOperation.get(operationKey(of));
  }

  #repeat({ arrival, profile }: Operation, known: Applied): JsonObject {
    if (profile.effect === "keyed" && known.argsHash !== arrival.argsHash) {
      throw new WorldRefusal(
        422,
        "idempotency_key_reused",
        `${arrival.operationId} was used before with other arguments`,
      );
    }
    this.#byOperation.set(operationKey(arrival), known);
    return known.result;
  }

  #toUndo({ arrival, profile }: Operation): Applied | undefined {
    if (profile.undoes === undefined) return undefined;
    const { field, action } = profile.undoes;
    const ref = String(arrival.args[field]);
    const applied = this.#byRef.get(refKey(arrival.service, action, ref));
    if (applied === undefined) throw new WorldRefusal(404, "not_found", `there is no ${field} "${ref}"`);
    if (applied.undone) throw new WorldRefusal(410, "already_undone", `${field} "${ref}" is undone already`);
    return applied;
  }

  #record(operation: Operation): Applied {
    const { arrival, profile } = operation;
    this.#count += 1;
    const ref = `${profile.refPrefix}_${this.#count}`;
    const result = { [profile.refField]: ref };
    this.#journal.append({ ...arrival, kind: "effect", ref });
    const applied: Applied = { ref, argsHash: arrival.argsHash, result, atMs: this.#now(), undone: false };
    this.#byKey.set(repeatKey(operation), applied);
    this.#byOperation.set(operationKey(arrival), applied);
    this.#byRef.set(refKey(arrival.service, arrival.action, ref), applied);
    return applied;
  }
}

function repeatKey({ arrival, profile }: Operation): string {
  const natural = profile.effect === "idempotent" ? profile.naturalKey?.(arrival.args) : undefined;
  return operationKey({ ...arrival, operationId: natural ?? arrival.operationId });
}

function refKey(service: string, action: string, ref: string): string {
  return operationKey({ service, action, operationId: ref });
}
