/**
 * Actions of one driver that wait for a tool. Invariants: D1 each request is answered once, and only with what is committed.
 * D2 whoever has lost the run is answered `lost`.
 */
import { type Run, type ToolAnswer, type ToolAsk, toolAnswer } from "../core/index.ts";
import type { StepSpec } from "../saga/index.ts";

/** A request for a tool: what core is asked, and the tool's step. */
export interface ToolRequest {
  readonly ask: ToolAsk;
  readonly tool: StepSpec;
}

/** What an action hears in the end. */
export type ToolWord = Exclude<ToolAnswer, { readonly is: "pending" }>;

export class ToolDesk {
  readonly #waiting = new Map<ToolRequest, (word: ToolWord) => void>();

  of(request: ToolRequest): Promise<ToolWord> {
    return new Promise((resolve) => {
      this.#waiting.set(request, resolve);
    });
  }

  /** `run` is committed. Requests it has not heard of yet are answered all the same where it says enough. */
  written(run: Run, isStopping: boolean): void {
    for (const [request, resolve] of this.#waiting) {
      const answer = toolAnswer(run, request.tool, request.ask, isStopping);
      if (answer.is === "pending") continue;
      this.#waiting.delete(request);
      resolve(answer);
    }
  }

  lose(): void {
    for (const resolve of this.#waiting.values()) resolve({ is: "lost" });
    this.#waiting.clear();
  }
}
