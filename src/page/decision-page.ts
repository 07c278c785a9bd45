/**
 * A page for links to decide by: a listener for `node:http` that shows what is asked and takes the answer. Owns the protocol: which
 * request does what, and which page answers it. Deciding is the client's.
 *
 * Invariants: H1 only a POST decides, and only with the value that the page itself carries: whoever follows links (scanners of
 * mail, previews of chats) changes nothing. H2 the token reaches no log, no cache and no other site. H3 whatever goes wrong is
 * said on a page, and nothing was decided unless it says so.
 */

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client, DecisionWord, PendingApproval, TokenView } from "../client/index.ts";
import { contentHashOf } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { filledIn } from "./form.ts";
import { type Again, notice, question, style } from "./pages.ts";

export interface DecisionPageOptions {
  /** Where it lies: a link is `<path>/<token>`, e.g. `/decide/...`. */
  readonly path: string;
}

/** What the page asks of a client. */
type Decider = Pick<Client, "readDecisionToken" | "decideByToken">;

const maxBodyBytes = 64 * 1_024;
const styleHash = createHash("sha256").update(style).digest("base64");
const headers = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex, nofollow",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
};

interface Answer {
  readonly status: number;
  readonly body: string;
}

/**
 * A request listener that serves links to decide by (`run.decisionToken`) under `path`; other paths are answered 404. GET and HEAD
 * show, POST decides. Hand it to `http.createServer`, or call it from your own server. Serve it by HTTPS: a link is a secret.
 */
export function decisionPage(
  client: Decider,
  { path }: DecisionPageOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const prefix = path.endsWith("/") ? path : `${path}/`;
  return (request, response) => {
    void answerTo(client, prefix, request)
      .catch(answerToError)
      .then(({ status, body }) => {
        response.writeHead(status, { ...headers, ...(status === 405 ? { allow: "GET, HEAD, POST" } : {}) });
        response.end(request.method === "HEAD" ? undefined : body);
      });
  };
}

async function answerTo(client: Decider, prefix: string, request: IncomingMessage): Promise<Answer> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  if (!pathname.startsWith(prefix)) return { status: 404, body: notice("There is no such page") };
  const token = pathname.slice(prefix.length);
  switch (request.method) {
    case "GET":
    case "HEAD":
      return await show(client, token);
    case "POST":
      return await take(client, token, request);
    default:
      return { status: 405, body: notice("That cannot be done here", "Open the link in a browser.") };
  }
}

// ---- showing

const nothingYet: Again = { problem: null, given: new URLSearchParams() };

async function show(client: Decider, token: string): Promise<Answer> {
  const view = await client.readDecisionToken(token);
  return view.approval === null || view.isUsed
    ? { status: 200, body: over(view) }
    : { status: 200, body: question(view, view.approval, csrfOf(token), nothingYet) };
}

function over({ isUsed, decided, approval }: TokenView): string {
  if (decided !== null) {
    return notice("This is decided", `${decided.by} has decided (${decided.decision}). Nothing is left to do here.`);
  }
  if (isUsed) return notice("This link was used", "It takes one answer, and it was given. Nothing is left to do here.");
  const why = approval === null ? "It is not asked any more, or it is asked about something else by now." : "";
  return notice("There is nothing to decide", why, "If you are asked anew you get a new link.");
}

// ---- deciding

async function take(client: Decider, token: string, request: IncomingMessage): Promise<Answer> {
  const given = await bodyOf(request);
  if (given === null) return { status: 413, body: notice("That is too much", "Nothing was decided.") };
  if (isFromElsewhere(request) || given.get("csrf") !== csrfOf(token)) {
    return { status: 403, body: notice("Nothing was decided", "Open the link itself, and decide there.") };
  }
  const view = await client.readDecisionToken(token);
  const { approval } = view;
  const word = wordOf(given, approval);
  if ("problem" in word) return again(view, token, { problem: word.problem, given });
  try {
    const { is } = await client.decideByToken(token, word);
    return { status: 200, body: thanks(word, is) };
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "INPUT_INVALID") throw error;
    return again(view, token, { problem: error.message, given });
  }
}

/** The same page with what was wrong; where there is nothing to decide any more, that. */
function again(view: TokenView, token: string, shown: Again): Answer {
  const { approval } = view;
  if (approval === null) return { status: 409, body: over(view) };
  return { status: 422, body: question(view, approval, csrfOf(token), shown) };
}

function wordOf(given: URLSearchParams, approval: PendingApproval | null): DecisionWord | { readonly problem: string } {
  const reason = given.get("reason")?.trim() ?? "";
  switch (given.get("decision")) {
    case "approve": {
      const schema = approval?.form ?? null;
      const form = schema === null ? undefined : filledIn(schema, given);
      if (schema !== null && form === undefined) return { problem: "What is to be filled in is no JSON." };
      return { is: "approve", ...(reason === "" ? {} : { reason }), ...(form === undefined ? {} : { form }) };
    }
    case "reject":
      return reason === "" ? { problem: "Say why you reject it." } : { is: "reject", reason };
    default:
      return { problem: "Choose one of the two buttons." };
  }
}

function thanks({ is }: DecisionWord, recorded: "accepted" | "duplicate"): string {
  const what = is === "approve" ? "You have approved it" : "You have rejected it";
  return notice(
    what,
    recorded === "accepted" ? "It is recorded." : "It was recorded before.",
    "You can close this page.",
  );
}

/** Bound to the token: only a page that was made for it carries it. */
function csrfOf(token: string): string {
  return contentHashOf(`decision page\n${token}`);
}

/** Browsers say where a form comes from. */
function isFromElsewhere({ headers: { "sec-fetch-site": site } }: IncomingMessage): boolean {
  return site !== undefined && site !== "same-origin" && site !== "none";
}

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    // A request without an encoding yields buffers.
    bytes += (part as Buffer).length;
    if (bytes > maxBodyBytes) return null;
    parts.push(part as Buffer);
  }
  return new URLSearchParams(Buffer.concat(parts).toString());
}

// ---- what went wrong

const codes: Partial<Record<string, { readonly status: number; readonly title: string; readonly line: string }>> = {
  TOKEN_GONE: { status: 410, title: "This link is not good any more", line: "It has expired, or there never was one." },
  TOKEN_USED: { status: 409, title: "This link was used", line: "It takes one answer, and another one was given." },
  APPROVAL_TAKEN: { status: 409, title: "Somebody else has decided", line: "Your answer was not taken." },
  APPROVAL_GONE: { status: 410, title: "There is nothing to decide", line: "It is not asked any more." },
  APPROVAL_STALE: {
    status: 409,
    title: "This has changed",
    line: "It would be carried out with something else than you were shown, so your answer was not taken.",
  },
  APPROVAL_FORBIDDEN: { status: 403, title: "You may not decide this", line: "Nothing was decided." },
};

function answerToError(error: unknown): Answer {
  const known = error instanceof RepriseError ? codes[error.code] : undefined;
  if (known === undefined) {
    const title = "That did not work";
    return {
      status: 503,
      body: notice(title, "Whether your answer was taken is not known. Open the link again to see."),
    };
  }
  const by = error instanceof RepriseError ? error.details["by"] : undefined;
  const who =
    typeof by === "string" && known.title === "Somebody else has decided" ? [`${by} has decided already.`] : [];
  return { status: known.status, body: notice(known.title, ...who, known.line) };
}
