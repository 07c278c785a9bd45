/**
 * Owns: where one request and one reply of the Redis protocol end in a stream of bytes (RESP2 and RESP3).
 * Does not own: what they mean.
 */

/** The offset behind the value that begins at `start`, or `undefined` while it is not complete. */
export function endOfValue(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf("\r\n", start);
  if (lineEnd < 0) return undefined;
  const next = lineEnd + 2;
  const length = () => Number(bytes.toString("latin1", start + 1, lineEnd));
  switch (String.fromCharCode(bytes[start] ?? 0)) {
    case "$":
    case "=":
    case "!":
      return length() < 0 ? next : within(bytes, next + length() + 2);
    case "*":
    case "~":
    case ">":
      return endOfValues(bytes, next, length());
    case "%":
      return endOfValues(bytes, next, 2 * length());
    case "|":
      return endOfValues(bytes, next, 2 * length() + 1);
    default:
      return next; // + - : _ # , ( and an inline request are one line
  }
}

function within(bytes: Buffer, end: number): number | undefined {
  return end <= bytes.length ? end : undefined;
}

function endOfValues(bytes: Buffer, start: number, count: number): number | undefined {
  let end: number | undefined = start;
  for (let left = count; left > 0 && end !== undefined; left -= 1) end = endOfValue(bytes, end);
  return end;
}

/** Cuts a stream into whole values; what is left over waits for more. */
export class ValueStream {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const values: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = start < this.#rest.length ? endOfValue(this.#rest, start) : undefined;
      if (end === undefined) break;
      values.push(this.#rest.subarray(start, end));
      start = end;
    }
    this.#rest = this.#rest.subarray(start);
    return values;
  }
}

/** The words of a request, as text in latin1: `["EVALSHA", "…", "2", …]`. */
export function wordsOf(request: Buffer): readonly string[] {
  if (request[0] !== "*".charCodeAt(0)) return request.toString("latin1").trim().split(/\s+/);
  const words: string[] = [];
  let at = request.indexOf("\r\n") + 2;
  while (at < request.length) {
    const lineEnd = request.indexOf("\r\n", at);
    const length = Number(request.toString("latin1", at + 1, lineEnd));
    words.push(request.toString("latin1", lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words;
}
