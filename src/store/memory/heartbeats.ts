/** Heartbeats in memory: the counterpart of `lua/beat.lua` and `lua/ask_to_drain.lua`. */
import {
  type BeatAnswer,
  type DrainCommand,
  type DrainRequest,
  type Drains,
  type Heartbeat,
  heartbeatKeptMs,
  type KeptHeartbeat,
  staleAfterMs,
} from "../../core/index.ts";

export class KeptHeartbeats {
  readonly #beats = new Map<string, KeptHeartbeat>();
  readonly #drains = new Map<string, DrainRequest>();
  #supervisedAt = Number.NEGATIVE_INFINITY;
  #teller: { readonly id: string; readonly at: number } | null = null;

  beat(heartbeat: Heartbeat, now: number): BeatAnswer {
    this.#forgetOld(now);
    this.#beats.set(heartbeat.id, { ...structuredClone(heartbeat), at: now });
    const isSupervisor = heartbeat.role === "supervisor";
    if (isSupervisor) this.#supervisedAt = now;
    const supervisedAt = now - this.#supervisedAt < heartbeatKeptMs ? this.#supervisedAt : null;
    const tells = isSupervisor && this.#tells(heartbeat.id, now);
    return { drain: this.#drains.get(heartbeat.id) ?? null, supervisedAt, tells };
  }

  #tells(id: string, now: number): boolean {
    const teller = this.#teller;
    if (teller !== null && teller.id !== id && teller.at + staleAfterMs >= now) return false;
    this.#teller = { id, at: now };
    return true;
  }

  all(now: number): { readonly heartbeats: readonly KeptHeartbeat[]; readonly drains: Drains } {
    this.#forgetOld(now);
    const heartbeats = [...this.#beats.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return { heartbeats, drains: Object.fromEntries(this.#drains) };
  }

  askToDrain(
    { worker, by, reason }: DrainCommand,
    now: number,
  ): { readonly answer: "OK" | "ABSENT"; readonly drain: DrainRequest | null; readonly isFirst: boolean } {
    this.#forgetOld(now);
    if (!this.#beats.has(worker)) return { answer: "ABSENT", drain: null, isFirst: false };
    const isFirst = !this.#drains.has(worker);
    const drain = this.#drains.get(worker) ?? { by, reason, at: now };
    this.#drains.set(worker, drain);
    return { answer: "OK", drain, isFirst };
  }

  forget(id: string): void {
    this.#beats.delete(id);
    this.#drains.delete(id);
    if (this.#teller?.id === id) this.#teller = null;
  }

  #forgetOld(now: number): void {
    for (const { id, at } of this.#beats.values()) if (now - at >= heartbeatKeptMs) this.forget(id);
  }
}
