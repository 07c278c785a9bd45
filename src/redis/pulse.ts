/**
 * A pulse: a connection open for nothing else. It ends when its process dies, within milliseconds and without anybody's
 * help, and its client id is how others see that (design section 5, Pulse).
 */
import type { Redis } from "ioredis";

/** Where a pulse is: the server's `run_id` and the connection's client id there. */
export interface PulsePlace {
  readonly serverId: string;
  readonly pulse: string;
}

export interface Pulse {
  close(): void;
}

const reopenAfterMs = 100;

/** `connect(turn)` opens a connection to the turn-th seed. Opens again after every loss, on the next seed. */
export function openPulse(connect: (turn: number) => Redis, onOpen: (place: PulsePlace) => void): Pulse {
  let client: Redis | null = null;
  let again: NodeJS.Timeout | null = null;
  let closed = false;
  const open = (turn: number) => {
    const mine = connect(turn);
    client = mine;
    let lost = false;
    const lose = () => {
      if (lost) return;
      lost = true;
      mine.disconnect();
      if (!closed) again = setTimeout(open, reopenAfterMs, turn + 1);
    };
    mine.on("error", () => undefined).once("close", lose);
    mine.once("ready", () => void whereIs(mine).then((place) => (closed || lost ? undefined : onOpen(place)), lose));
  };
  open(0);
  return {
    close: () => {
      closed = true;
      if (again !== null) clearTimeout(again);
      client?.disconnect();
    },
  };
}

async function whereIs(client: Redis): Promise<PulsePlace> {
  const [id, info] = await Promise.all([client.client("ID"), client.info("server")]);
  const serverId = /^run_id:(\w+)/m.exec(info)?.[1];
  if (serverId === undefined) throw new Error("INFO server names no run_id");
  return { serverId, pulse: String(id) };
}
