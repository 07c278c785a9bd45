/** What a worker process of the scenarios is told when it starts, what it is asked by IPC, and what it says. */

export interface Orders {
  readonly redis: string;
  readonly world: string;
  /** A spinning action blocks its process until this file is there. */
  readonly spinEnds: string;
}

/** One worker serves one namespace; a process may serve several. */
export interface Serve {
  readonly serve: string;
  /** Runs driven at once. */
  readonly concurrency: number;
  /** Sends itself SIGTERM when the handler of this wake-up has resolved (P12); `null`: never. */
  readonly sigtermAtWake: number | null;
  /** With the settings nobody has changed (a lease of 10 s), where a takeover must come from a death that was noticed. */
  readonly isDefault: boolean;
}

export type Said =
  | { readonly said: "ready" }
  | { readonly said: "serving"; readonly namespace: string; readonly owner: string }
  /** It was told that somebody else has the run. */
  | { readonly said: "fenced"; readonly run: string }
  /** It has sent itself SIGTERM. */
  | { readonly said: "p12"; readonly run: string; readonly wake: number }
  /** This wake-up was fetched together with the completion before it, so by a process that is about to go. */
  | { readonly said: "prefetched"; readonly run: string };

/** How a declaration was refused, and in which mode of Node and of XState. */
export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly findings: readonly { readonly code: string; readonly saga: string | null; readonly state: string | null }[];
  readonly xstate: string;
  readonly mode: string;
}
