/**
 * Owns: one connection through the proxy: two lanes, and which reply belongs to which request.
 *
 * Invariants
 * 1. Bytes that are passed on are passed on unchanged and in order.
 * 2. A reply is paired with its request by order; a connection that subscribes has no pairs and is only passed on.
 * 3. A reply that was dropped or is held was there: its request has been carried out.
 */
import type { Socket } from "node:net";
import { ValueStream, wordsOf } from "./resp.ts";

export interface RedisRequest {
  readonly bytes: Buffer;
  /** Its words as latin1 text: `["EVALSHA", "…", "1", …]`. */
  readonly words: readonly string[];
  /** Which connection it came by, counted from 1. */
  readonly connection: number;
}

export type Match = (request: RedisRequest) => boolean;
export type Toward = "server" | "client";

export interface Strike {
  /** Of the matching requests from now on, the first one that is struck. 1 when left out. */
  readonly nth?: number;
  /** How many from there on. 1 when left out. */
  readonly times?: number;
}

export type Fault = "drop-reply-cut" | "drop-reply-silence" | "hold-reply" | "drop-request" | "hold-request";

export interface Weather {
  readonly delayMs: number;
  readonly server: "flowing" | "frozen";
  readonly client: "flowing" | "frozen";
  readonly isSilent: boolean;
  readonly isRefusing: boolean;
}

export const fair: Weather = { delayMs: 0, server: "flowing", client: "flowing", isSilent: false, isRefusing: false };

const maxQueuedBytes = 4 * 1024 * 1024;

export class Script {
  readonly fault: Fault;
  readonly hit: Promise<RedisRequest>;
  hits = 0;
  isReleased = false;
  readonly #match: Match;
  readonly #first: number;
  readonly #last: number;
  #seen = 0;
  #tell: (request: RedisRequest) => void = () => undefined;

  constructor(fault: Fault, match: Match, { nth = 1, times = 1 }: Strike) {
    this.fault = fault;
    this.#match = match;
    this.#first = nth;
    this.#last = nth + times - 1;
    this.hit = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  meets(request: RedisRequest): boolean {
    if (!this.#match(request)) return false;
    this.#seen += 1;
    return this.#seen >= this.#first && this.#seen <= this.#last;
  }

  strike(request: RedisRequest): void {
    this.hits += 1;
    this.#tell(request);
  }

  release(): void {
    this.isReleased = true;
  }
}

interface Piece {
  /** What is passed on, or the end of the connection. */
  readonly bytes: Buffer | "end";
  readonly dueAt: number;
  /** It, and what is behind it, waits for the release of this. */
  readonly gate: Script | undefined;
}

/** One direction of one connection: a queue in front of a socket. */
class Lane {
  readonly #to: Socket;
  readonly #from: Socket;
  readonly #weather: () => Weather;
  readonly #toward: Toward;
  readonly #queue: Piece[] = [];
  #queuedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sockets: { readonly from: Socket; readonly to: Socket }, toward: Toward, weather: () => Weather) {
    this.#from = sockets.from;
    this.#to = sockets.to;
    this.#toward = toward;
    this.#weather = weather;
  }

  send(bytes: Buffer | "end", gate?: Script): void {
    const dueAt = Math.max(performance.now() + this.#weather().delayMs, this.#queue.at(-1)?.dueAt ?? 0);
    this.#queue.push({ bytes, dueAt, gate });
    this.#queuedBytes += bytes === "end" ? 0 : bytes.length;
    if (this.#queuedBytes > maxQueuedBytes) this.#from.pause();
    this.pump();
  }

  pump(): void {
    clearTimeout(this.#timer);
    for (let piece = this.#queue[0]; piece !== undefined; piece = this.#queue[0]) {
      if (this.#weather()[this.#toward] === "frozen" || piece.gate?.isReleased === false) return;
      const leftMs = piece.dueAt - performance.now();
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(leftMs));
        return;
      }
      this.#queue.shift();
      this.#pass(piece.bytes);
    }
    this.#from.resume();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #pass(bytes: Piece["bytes"]): void {
    if (this.#to.destroyed) return;
    if (bytes === "end") {
      this.#to.destroySoon();
      return;
    }
    this.#queuedBytes -= bytes.length;
    this.#to.write(bytes);
  }
}

/** What a connection knows of the proxy that it belongs to. */
export interface Surroundings {
  readonly weather: Weather;
  /** The fault that this request meets, if one does. */
  meet(request: RedisRequest): Script | undefined;
  count(command: string): void;
  gone(link: Link): void;
}

interface LinkParts {
  readonly around: Surroundings;
  readonly number: number;
  readonly client: Socket;
  readonly server: Socket;
}

interface Pending {
  readonly request: RedisRequest;
  readonly script: Script | undefined;
}

/** One client's connection and the one to the server that carries it on. */
export class Link {
  isSilent = false;
  /** The newest request that its client has no answer to. */
  asks: RedisRequest | undefined;
  readonly #parts: LinkParts;
  readonly #toServer: Lane;
  readonly #toClient: Lane;
  readonly #requests = new ValueStream();
  readonly #replies = new ValueStream();
  readonly #pending: Pending[] = [];
  #isPaired = true;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    const { client, server, around } = parts;
    this.#toServer = new Lane({ from: client, to: server }, "server", () => around.weather);
    this.#toClient = new Lane({ from: server, to: client }, "client", () => around.weather);
    client.setNoDelay(true).on("data", (chunk: Buffer) => this.#fromClient(chunk));
    server.setNoDelay(true).on("data", (chunk: Buffer) => this.#fromServer(chunk));
    client.on("error", () => undefined).on("close", () => this.destroy());
    client.on("end", () => this.isSilent || client.end());
    // Whoever hears nothing does not hear that the other side went away either.
    server.on("error", () => undefined).on("close", () => this.isSilent || this.destroy());
  }

  pump(): void {
    this.#toServer.pump();
    this.#toClient.pump();
  }

  silence(): void {
    this.isSilent = true;
  }

  destroy(): void {
    const { client, server, around } = this.#parts;
    around.gone(this);
    this.#toServer.close();
    this.#toClient.close();
    if (!client.destroyed) client.resetAndDestroy();
    server.destroy();
  }

  #fromClient(chunk: Buffer): void {
    if (this.isSilent) return;
    for (const bytes of this.#requests.push(chunk)) this.#request(bytes);
  }

  #request(bytes: Buffer): void {
    const { around, number, client } = this.#parts;
    if (client.destroyed) return;
    const request = new Request(bytes, number);
    const command = (request.words[0] ?? "").toUpperCase();
    around.count(command);
    this.asks = request;
    if (/SUBSCRIBE$|^MONITOR$/.test(command)) this.#isPaired = false;
    const script = this.#isPaired ? around.meet(request) : undefined;
    if (script?.fault === "drop-request") {
      script.strike(request);
      this.destroy();
      return;
    }
    if (this.#isPaired) this.#pending.push({ request, script });
    const isHeld = script?.fault === "hold-request";
    this.#toServer.send(bytes, isHeld ? script : undefined);
    if (isHeld) script.strike(request);
  }

  #fromServer(chunk: Buffer): void {
    if (this.isSilent) return;
    for (const reply of this.#replies.push(chunk)) this.#reply(reply);
  }

  #reply(bytes: Buffer): void {
    if (this.isSilent || this.#parts.client.destroyed) return;
    const isPush = bytes[0] === ">".charCodeAt(0);
    const answered = isPush ? undefined : this.#pending.shift();
    if (this.#isPaired && this.#pending.length === 0) this.asks = undefined;
    const script = answered?.script;
    switch (script?.fault) {
      case "drop-reply-cut":
        // What was answered before still arrives; what comes after does not.
        this.silence();
        this.#toClient.send("end");
        break;
      case "drop-reply-silence":
        this.silence();
        break;
      case "hold-reply":
        this.#toClient.send(bytes, script);
        break;
      case "drop-request":
      case "hold-request":
      case undefined:
        this.#toClient.send(bytes);
        return;
    }
    if (answered !== undefined) script?.strike(answered.request);
  }
}

class Request implements RedisRequest {
  readonly bytes: Buffer;
  readonly connection: number;
  #words: readonly string[] | undefined;

  constructor(bytes: Buffer, connection: number) {
    this.bytes = bytes;
    this.connection = connection;
  }

  get words(): readonly string[] {
    this.#words ??= wordsOf(this.bytes);
    return this.#words;
  }
}
