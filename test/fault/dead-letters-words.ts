/** What the test of dead letters tells its worker processes, and what they answer. */

export interface LetterOrders {
  readonly redis: string;
  readonly world: string;
  readonly namespace: string;
  /** At the moment a run was parked. */
  readonly dies: boolean;
}

export interface LetterSaid {
  readonly ready: true;
}
