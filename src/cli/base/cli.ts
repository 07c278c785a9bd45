/** What a command is given to work with: its flags, where to print, whom to ask, a client. Owns opening and closing that client. */
import { userInfo } from "node:os";
import type { Client } from "../../client/index.ts";
import type { Facts } from "../../core/index.ts";
import { colorsIn } from "../colors.ts";
import { Interrupted, UsageError } from "../exit.ts";
import { type Asking, askingOn } from "./ask.ts";
import type { Globals } from "./globals.ts";
import type { Io } from "./io.ts";
import { Out } from "./out.ts";
import { type Place, type Project, placeOf, projectOf } from "./place.ts";

/** What the command line asks for. */
export interface Doing {
  readonly command: string;
  readonly args: readonly unknown[];
}

export class Cli {
  readonly globals: Globals;
  readonly io: Io;
  readonly out: Out;
  readonly ask: Asking;
  #place: Promise<Place> | null = null;
  #client: Promise<Client> | null = null;

  readonly #doing: Doing;

  constructor(globals: Globals, io: Io, doing: Doing) {
    this.#doing = doing;
    this.globals = globals;
    this.io = io;
    const { format, quiet, verbose, reveal, color } = globals;
    const { stdout, stderr, env } = io;
    const colors = colorsIn(stdout, env, color);
    const noteColors = colorsIn(stderr, env, color);
    this.out = new Out({ stdout, stderr, env, format, quiet, verbose, reveal, colors, noteColors });
    this.ask = askingOn(io, globals.noInput);
  }

  /** Aborted by Ctrl-C. */
  get signal(): AbortSignal {
    return this.io.signal;
  }

  /** Where the runs are, and the sagas of the project. Throws UsageError, CONFIG_INVALID. */
  place(): Promise<Place> {
    this.#place ??= placeOf(this.globals, this.io);
    return this.#place;
  }

  /** The same for a command that needs no Redis. */
  project(): Promise<Project> {
    return projectOf(this.globals, this.io);
  }

  /** One client for the whole command; it is closed when the command has ended. */
  client(): Promise<Client> {
    this.#client ??= this.#connected().then((client) => this.#onRecord(client));
    return this.#client;
  }

  async tenant(): Promise<string> {
    return (await this.place()).tenant;
  }

  /** Whose runs are meant where no --tenant says it: what is printed to be used again names every other tenant. */
  async usualTenant(): Promise<string> {
    const { tenant: flag, ...others } = this.globals;
    return flag === undefined
      ? await this.tenant()
      : (await projectOf({ ...others, tenant: undefined }, this.io)).tenant;
  }

  /** Who acts. */
  get by(): string {
    const { by } = this.globals;
    if (by !== undefined) return by;
    const named = this.io.env["REPRISE_BY"];
    return named === undefined || named === "" ? userInfo().username : named;
  }

  /** Why; asked for on a terminal. Throws UsageError naming the flag. */
  async reason(): Promise<string> {
    return this.globals.reason ?? (await this.ask.text("Why? It stands in the log.", "--reason"));
  }

  /** Settles as the promise does, or rejects with Interrupted at Ctrl-C. */
  async unlessInterrupted<Value>(promise: Promise<Value>): Promise<Value> {
    const { signal } = this;
    let stop = () => {};
    const interrupted = new Promise<never>((_, reject) => {
      const giveUp = () => reject(new Interrupted());
      if (signal.aborted) giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      stop = () => signal.removeEventListener("abort", giveUp);
    });
    try {
      return await Promise.race([promise, interrupted]);
    } finally {
      stop();
    }
  }

  /** Troubles on the way are for whoever wants to know everything: what they come to is told by how the command ends. */
  get facts(): Facts {
    return { emit: (fact) => fact.fact === "trouble" && this.out.detail(`${fact.where}: ${fact.message}`) };
  }

  async close(): Promise<void> {
    const client = await this.#client?.catch(() => null);
    await client?.close();
  }

  /** Whoever looks at secrets is on record before they are shown; where that cannot be kept, they are not. */
  async #onRecord(client: Client): Promise<Client> {
    if (!this.globals.reveal) return client;
    const { command, args } = this.#doing;
    // Other words may be anything; what is no name is not repeated.
    const names = args.flat().filter((word) => typeof word === "string" && /^[A-Za-z0-9_./-]{1,129}$/.test(word));
    const about = [command, ...names].join(" ");
    try {
      await client.note({ act: "reveal", by: this.by, reason: this.globals.reason ?? null, run: null, about });
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  async #connected(): Promise<Client> {
    const { tenant: _tenant, services: _services, alerts: _alerts, file, ...place } = await this.place();
    const { createClient } = await import("../../orchestrator/index.ts");
    if (file === null) this.out.detail("no reprise.config was found: no saga is known");
    else
      this.out.detail(
        `${file}: ${place.sagas.map(({ name, version }) => `${name}@${version}`).join(", ") || "no saga"}`,
      );
    return createClient({
      ...place,
      facts: this.facts,
    });
  }
}

/** Throws UsageError where both or neither is given. */
export function onlyOne(ids: readonly string[], filters: Readonly<Record<string, unknown>>): "ids" | "filter" {
  const given = Object.values(filters).some((value) => value !== undefined);
  if (ids.length > 0 && given) throw new UsageError("name runs or give a filter, not both");
  if (ids.length === 0 && !given)
    throw new UsageError("name at least one run, or give a filter (--status, --saga, ...)");
  return given ? "filter" : "ids";
}
