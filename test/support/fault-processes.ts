/** The processes of a fault test, as the harness holds them: what they are asked, what they say, how they end. */
import { existsSync, readFileSync } from "node:fs";
import type { ClientReply, ClientRequest, Hit, WorkerReply, WorkerRequest } from "./fault-plan.ts";
import { type Child, type Exit, type SpawnOptions, spawnChild, waitFor } from "./processes.ts";

const bootMs = 60_000;

export class FaultProcess {
  readonly child: Child;
  readonly #hits: string;

  protected constructor(child: Child, hits: string) {
    this.child = child;
    this.#hits = hits;
  }

  get pid(): number {
    return this.child.pid;
  }

  get exit(): Promise<Exit> {
    return this.child.exit;
  }

  /** The points it has hit, as it wrote them down just before. */
  hits(): readonly Hit[] {
    if (!existsSync(this.#hits)) return [];
    const lines = readFileSync(this.#hits, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Hit); // `Gate` wrote it
  }

  /** Waits for its end, or says what it wrote if it lives on. */
  async end(timeoutMs = 30_000): Promise<Exit> {
    return await waitFor(() => !this.child.isRunning && this.exit, {
      timeoutMs,
      what: `the end of process ${this.pid}`,
      tell: () => this.child.stderr.slice(-3_000),
    });
  }

  stop(): Promise<void> {
    return this.child.stop();
  }
}

function isReady(message: unknown): message is { readonly ready: true } {
  return typeof message === "object" && message !== null && "ready" in message;
}

export class FaultWorker extends FaultProcess {
  readonly #pidOf: Map<string, number>;

  private constructor(child: Child, hits: string, pidOf: Map<string, number>) {
    super(child, hits);
    this.#pidOf = pidOf;
  }

  static async start(
    file: string,
    options: SpawnOptions,
    { hits, pidOf }: { readonly hits: string; readonly pidOf: Map<string, number> },
  ): Promise<FaultWorker> {
    const child = await spawnChild(file, options);
    await child.nextMessage(isReady, bootMs);
    return new FaultWorker(child, hits, pidOf);
  }

  /** Resolves with the incarnation that serves the namespace now. */
  async serve(namespace: string): Promise<string> {
    this.#ask({ serve: namespace });
    const serving = (message: unknown): message is Extract<WorkerReply, { serving: string }> =>
      (message as Partial<Extract<WorkerReply, { serving: string }>>).serving === namespace;
    const { owner, pid } = await this.child.nextMessage(serving, bootMs);
    this.#pidOf.set(owner, pid);
    return owner;
  }

  /** Asks it to stop serving in good order, which it may not live to see. */
  stopServing(namespace: string): void {
    this.#ask({ leave: namespace });
  }

  /** Asks it to stop serving in good order; resolves when it has. */
  async leave(namespace: string): Promise<void> {
    this.stopServing(namespace);
    const left = (message: unknown): message is Extract<WorkerReply, { left: string }> =>
      (message as Partial<Extract<WorkerReply, { left: string }>>).left === namespace;
    await this.child.nextMessage(left, bootMs);
  }

  #ask(request: WorkerRequest): void {
    this.child.send(request);
  }
}

export class FaultClient extends FaultProcess {
  static async start(file: string, options: SpawnOptions, hits: string): Promise<FaultClient> {
    const child = await spawnChild(file, options);
    await child.nextMessage(isReady, bootMs);
    return new FaultClient(child, hits);
  }

  ask(request: ClientRequest): void {
    this.child.send({ ...request });
  }

  /** What the client was answered: the id of its run, or what became of its event. */
  async answered(): Promise<string> {
    const isAnswer = (message: unknown): message is Extract<ClientReply, { answered: string }> =>
      typeof message === "object" && message !== null && "answered" in message;
    return (await this.child.nextMessage(isAnswer)).answered;
  }
}
