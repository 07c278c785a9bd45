/**
 * Owns: what the network between a client and its Redis does to them: a reply that is lost or late, a request that
 * never arrives, a cut, a connection that is open on one side only, delay, silence in one direction.
 * It follows the protocol (resp.ts), so that a fault strikes one chosen request and nothing else.
 * Does not own: what happens to one connection (tcp-link.ts).
 */
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import {
  type Fault,
  fair,
  Link,
  type Match,
  type RedisRequest,
  Script,
  type Strike,
  type Surroundings,
  type Toward,
  type Weather,
} from "./tcp-link.ts";

/** A fault that waits for its request. */
export interface Interception {
  /** Settles when it has struck for the first time: the reply is lost or held, the request withheld. */
  readonly hit: Promise<RedisRequest>;
  readonly hits: number;
  /** Lets go what is held and strikes no more. */
  release(): void;
}

export interface TcpProxy {
  readonly port: number;
  readonly url: string;
  /** Connections open right now. */
  readonly connections: number;
  /** How many have asked for this and have no answer yet; one that subscribes never has. */
  asking(what: Match): number;
  /** Requests seen, by the name of the command. */
  readonly commands: ReadonlyMap<string, number>;
  /** Loses the reply of a request that was carried out, then cuts the connection or leaves it silent for ever. */
  dropReply(match: Match, strike?: Strike & { readonly ending?: "cut" | "silence" }): Interception;
  /** Withholds a reply and all behind it until it is released. */
  holdReply(match: Match, strike?: Strike): Interception;
  /** Cuts the connection before the request reaches the server. */
  dropRequest(match: Match, strike?: Strike): Interception;
  /** Withholds a request and all behind it until it is released. */
  holdRequest(match: Match, strike?: Strike): Interception;
  /** Resets every connection. New ones are welcome. */
  cut(): void;
  /** Resets every connection, or those that have asked for this and have no answer yet, and every new one. */
  refuse(asking?: Match): void;
  /** Swallows everything both ways; connections stay open, new ones too, and nobody hears anything. */
  halfOpen(): void;
  /** Swallows everything both ways on the connections that have asked for this and have no answer yet. */
  silence(asking: Match): void;
  /** Everything takes this much longer each way. */
  delay(ms: number): void;
  /** Keeps what goes this way until it is thawed. */
  freeze(toward: Toward): void;
  thaw(toward: Toward): void;
  /** Undoes all of these; connections from which something was swallowed are reset. */
  heal(): void;
  resetCounts(): void;
  /** It may be called again. */
  close(): Promise<void>;
}

export interface TcpProxyOptions {
  /** Where each new connection is carried on to. A function, where that is not known yet. */
  readonly target: NetConnectOpts | (() => NetConnectOpts);
  /** A free one when left out. */
  readonly port?: number;
}

/** Starts a proxy on 127.0.0.1 in front of a Redis. */
export async function startTcpProxy({ target, port = 0 }: TcpProxyOptions): Promise<TcpProxy> {
  const network = new Network();
  // Half open, a side that goes away is not even told good-bye: the end of each is answered by its link, or not.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    network.accept(client, typeof target === "function" ? target() : target);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve());
  });
  const address = server.address() as AddressInfo; // a server that listens on a port has such an address
  let closed: Promise<void> | undefined;
  const script = (fault: Fault) => (match: Match, strike?: Strike) => network.script(fault, match, strike);
  return {
    port: address.port,
    url: `redis://127.0.0.1:${address.port}`,
    get connections() {
      return network.links.size;
    },
    asking: (what) => network.asking(what).length,
    commands: network.commands,
    dropReply: (match, { ending = "cut", ...strike } = {}) => script(`drop-reply-${ending}`)(match, strike),
    holdReply: script("hold-reply"),
    dropRequest: script("drop-request"),
    holdRequest: script("hold-request"),
    cut: () => network.cut(),
    refuse: (asking) => network.refuse(asking),
    halfOpen: () => network.halfOpen(),
    silence: (asking) => network.silence(asking),
    delay: (ms) => network.setWeather({ delayMs: ms }),
    freeze: (toward) => network.setWeather({ [toward]: "frozen" }),
    thaw: (toward) => network.setWeather({ [toward]: "flowing" }),
    heal: () => network.heal(),
    resetCounts: () => network.commands.clear(),
    close: () => {
      closed ??= stop(server, network);
      return closed;
    },
  };
}

function stop(server: Server, network: Network): Promise<void> {
  const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
  network.cut();
  return stopped;
}

/** All connections, what the weather is for them, and the faults that wait for their requests. */
class Network implements Surroundings {
  readonly links = new Set<Link>();
  readonly commands = new Map<string, number>();
  weather: Weather = fair;
  #scripts: Script[] = [];
  #accepted = 0;

  accept(client: Socket, target: NetConnectOpts): void {
    if (this.weather.isRefusing) {
      client.resetAndDestroy();
      return;
    }
    this.#accepted += 1;
    const link = new Link({ around: this, number: this.#accepted, client, server: connect(target) });
    this.links.add(link);
    if (this.weather.isSilent) link.silence();
  }

  setWeather(change: Partial<Weather>): void {
    this.weather = { ...this.weather, ...change };
    for (const link of this.links) link.pump();
  }

  cut(): void {
    for (const link of this.links) link.destroy();
  }

  refuse(asking: Match | undefined): void {
    this.setWeather({ isRefusing: true });
    for (const link of asking === undefined ? this.links : this.asking(asking)) link.destroy();
  }

  halfOpen(): void {
    this.setWeather({ isSilent: true });
    for (const link of this.links) link.silence();
  }

  silence(asking: Match): void {
    for (const link of this.asking(asking)) link.silence();
  }

  heal(): void {
    for (const link of this.links) if (link.isSilent) link.destroy();
    this.setWeather(fair);
  }

  script(fault: Fault, match: Match, strike: Strike = {}): Interception {
    const script = new Script(fault, match, strike);
    this.#scripts.push(script);
    return {
      hit: script.hit,
      get hits() {
        return script.hits;
      },
      release: () => {
        this.#scripts = this.#scripts.filter((each) => each !== script);
        script.release();
        for (const link of this.links) link.pump();
      },
    };
  }

  asking(what: Match): readonly Link[] {
    return [...this.links].filter(({ isSilent, asks }) => !isSilent && asks !== undefined && what(asks));
  }

  /** The fault that this request meets, if one does. */
  meet(request: RedisRequest): Script | undefined {
    return this.#scripts.filter((script) => script.meets(request))[0];
  }

  gone(link: Link): void {
    this.links.delete(link);
  }

  count(command: string): void {
    this.commands.set(command, (this.commands.get(command) ?? 0) + 1);
  }
}
