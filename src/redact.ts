/**
 * Owns: what looks like a credential in a text, and how it is masked. A leaf: every room may import it. It is for text that
 * comes from errors, probes and log lines, never for inputs, outputs or progress, which are the user's and kept as they are.
 *
 * Invariants: D1 linear: no rule can start twice over the same stretch, none tries a stretch in two ways. D2 masking twice
 * changes nothing more: a mask is masked as itself, and no rule ends where it would let another begin. D3 what is no
 * credential stays, and so does its name: a reader sees that there was one. D4 of a text longer than `maxChars` the rest is
 * cut off, unread: V8 gives up on patterns over some millions of characters.
 */

/** What stands in the place of a credential. */
export const mask = "[redacted]";
const maxChars = 100_000;

const secretName =
  "(?:password|passwd|passphrase|pwd|secret(?:[_-]?key)?|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|authorization|credentials?)";
/** `=`, `:`, `=>` and their like, where the name may stand in quotes, escaped ones too. */
const separator = String.raw`(?:\\*["'])?\s{0,8}[:=]+>?(?![:=])\s{0,8}`;
/** The rest of a quoted value, also of one that is cut off; of one in escaped quotes (JSON within JSON); of a bare one. */
const quoted = String.raw`(?<=")(?:[^"\\]|\\[^])+|(?<=')(?:[^'\\]|\\[^])+`;
const escaped = String.raw`(?<=\\["'])(?:[^"'\\]|\\(?!["']))+`;
const bare = String.raw`(?:(?:bearer|basic|digest|token)\s{1,8})?[^\s"'\\&,;<>(){}[\]]+`;

/** In this order: the value of a name would take a whole URL, the others a part of a value. */
const rules: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // scheme://user:password@host
  [/(?<=:\/\/)(?:(?!\[redacted\])[^\s/?#"'<>])+@/g, `${mask}@`],
  // password=..., "token": "...", authorization: Bearer ...
  [new RegExp(`(${secretName}${separator}(?:\\\\*["'])?)(?:${escaped}|${quoted}|${bare})`, "gi"), `$1${mask}`],
  // Bearer ..., but "Bearer token expired" is prose and `Bearer realm=` a question
  [
    /\b(bearer\s{1,8})(?!(?:token|auth|authentication|authorization|scheme|error)(?![\w.~+/=-])|realm=)[\w.~+/=-]+/gi,
    `$1${mask}`,
  ],
  // Basic ..., base64: "basic plan" is prose
  [/\b((?:[Bb]asic|BASIC)\s{1,8})(?!realm=)(?=[a-z_.~-]*[A-Z0-9=+/])[\w.~+/=-]+/g, `$1${mask}`],
  // keys that say what they are: Stripe, GitHub, Slack, AWS, and the many `sk-`
  [
    /(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_|rk_(?=\w{8})|gh[oprsu]_|github_pat_|xox[a-z]-|(?:AKIA|ASIA)(?=[A-Z0-9]{12})|sk-(?=[\w-]{16}))[\w-]+/g,
    mask,
  ],
  // JSON web tokens
  [/(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g, mask],
];

/** Without any of these no rule finds anything: names, ids and most words are looked over once, not six times. */
const isSuspicious = /[:=\s]|[sr]k[-_]|gh[oprsu]_|github_pat_|xox|AKIA|ASIA|eyJ/;

/** The text, with what looks like a credential masked. */
export function redact(text: string): string {
  let shown = text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`;
  if (!isSuspicious.test(shown)) return shown;
  for (const [pattern, replacement] of rules) shown = shown.replace(pattern, replacement);
  return shown;
}

const endsAsSecret = new RegExp(`${secretName}$`, "i");

/** Is what stands under this name a credential? */
export function isSecretName(name: string): boolean {
  return endsAsSecret.test(name);
}

/** A replacer for `JSON.stringify`: texts are masked, and whatever stands under the name of a credential. */
export function redactValue(name: string, value: unknown): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  if (isSecretName(name)) return mask;
  return typeof value === "string" ? redact(value) : value;
}

/** The fields of a log line as JSON has them, masked. What JSON cannot say takes nothing of the others away. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    try {
      told[name] = JSON.parse(JSON.stringify({ [name]: value }, redactValue))[name];
    } catch {
      told[name] = "(no JSON)";
    }
  }
  return told;
}
