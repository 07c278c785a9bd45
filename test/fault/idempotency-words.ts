/** What the tests and the service process of `idempotency.child.ts` say to each other. */

/** Where a request is made: the service's namespace, and the file in which the world notes every effect. */
export interface Place {
  readonly redis: string;
  readonly namespace: string;
  readonly file: string;
  readonly claimFor: number;
}

/** How `fn` goes about it: stand still before or after its effect until told to go on, or throw instead. */
export type Way = "straight" | "hold before" | "hold after" | "throw" | "refuse";

export interface Ask extends Place {
  readonly id: number;
  readonly key: string;
  readonly cents: number;
  readonly tenant?: string;
  readonly way: Way;
  /** Look for the effect in the file where nobody knows. */
  readonly recovers: boolean;
}

export type Request = { readonly ask: Ask } | { readonly goOn: true };

export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export type Reply =
  | { readonly ready: true }
  | { readonly holding: number }
  | { readonly answered: number; readonly json: string; readonly replayed: boolean }
  | { readonly refused: number; readonly error: Refused };

/** One effect, as the world noted it. */
export interface Effect {
  readonly key: string;
  readonly cents: number;
  readonly pid: number;
}
