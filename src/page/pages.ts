/** The pages that a link to decide by leads to. Owns their words and their looks; `decision-page.ts` owns which is shown when. */
import type { PendingApproval, TokenView } from "../client/index.ts";
import type { Json } from "../saga/index.ts";
import { formFields } from "./form.ts";
import { type Html, html } from "./html.ts";

/** The one style sheet; the content security policy names its hash. */
export const style = `
:root { color-scheme: light dark; --line: light-dark(#ccd2d9, #3b424b); --soft: light-dark(#f4f6f8, #1c2127);
  --ink: light-dark(#14181d, #e8ebee); --dim: light-dark(#4c5661, #a9b2bc); --yes: #116329; --no: #a40e26; }
* { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: light-dark(#fff, #12161a); }
main { max-width: 42rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
.dim { color: var(--dim); }
table { width: 100%; border-collapse: collapse; background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem; overflow-wrap: anywhere; }
tr + tr > * { border-top: 1px solid var(--line); }
th { font-weight: 500; color: var(--dim); width: 35%; }
td { font-variant-numeric: tabular-nums; }
form { margin-top: 2rem; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 500; }
label.check { font-weight: 400; }
textarea, input:not([type=checkbox]) { width: 100%; padding: .5rem; font: inherit; color: inherit; background: var(--soft);
  border: 1px solid var(--dim); border-radius: .375rem; }
.acts { display: flex; gap: .75rem; flex-wrap: wrap; margin-top: 1.25rem; }
button { font: inherit; font-weight: 600; padding: .6rem 1.5rem; border: 0; border-radius: .375rem; color: #fff; cursor: pointer; }
button[value=approve] { background: var(--yes); }
button[value=reject] { background: var(--no); }
:focus-visible { outline: 3px solid light-dark(#0a58ca, #7ab7ff); outline-offset: 2px; }
[role=alert] { border-left: 4px solid var(--no); background: var(--soft); padding: .5rem 1rem; }
`;

/** A whole page. */
export function page(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${{ html: style }}</style>
</head>
<body><main>
${body}
</main></body>
</html>
`.html;
}

/** Something that is over, or went wrong: what, and what now. */
export function notice(title: string, ...lines: readonly string[]): string {
  return page(title, html`<h1>${title}</h1>${lines.map((line) => html`<p>${line}</p>`)}`);
}

/** What was posted, where it is to be shown again with what was wrong about it. */
export interface Again {
  readonly problem: string | null;
  readonly given: URLSearchParams;
}

/** The page that asks. */
export function question(
  { for: person, expiresAt }: TokenView,
  approval: PendingApproval,
  csrf: string,
  { problem, given }: Again,
): string {
  return page(
    approval.question,
    html`${problem === null ? null : html`<p role="alert">${problem}</p>`}
<h1>${approval.question}</h1>
<p class="dim">${asked(approval)}</p>
<h2>With exactly this</h2>
<table><tbody>${leavesOf(approval.input).map(
      ([path, value]) => html`<tr><th scope="row">${path}</th><td>${value}</td></tr>
`,
    )}</tbody></table>
<h2>What happens</h2>
<p>${whenApproved(approval)}</p>
<p>If you reject, nothing of it is done, and the run hears why.</p>
<p>${whenNobody(approval)}</p>
${said(approval)}
<form method="post">
<input type="hidden" name="csrf" value="${csrf}">
${approval.form === null ? null : formFields(approval.form, given)}
<label for="reason">Reason (needed to reject)</label>
<textarea id="reason" name="reason" rows="3" maxlength="4000">${given.get("reason") ?? ""}</textarea>
<div class="acts">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="reject">Reject</button>
</div>
<p class="dim">You decide as ${person.id}. This link takes one answer, until ${time(expiresAt)}.</p>
</form>`,
  );
}

function asked({ requester, step, run, saga, rule, since }: PendingApproval): Html {
  const who = requester === null ? "" : ` by ${requester}`;
  const why = rule === null ? "" : ` A person is asked because of the rule: ${rule}.`;
  return html`Asked${who} on ${time(since)}, for ${step} in run ${run} of ${saga}.${why}`;
}

function whenApproved({ kind, step, quorum, votes }: PendingApproval): string {
  const left = quorum - votes.length;
  const then =
    kind === "gate"
      ? `${step} is carried out with exactly what is shown here.`
      : "the run goes on with exactly what is shown here.";
  return left <= 1 ? `If you approve, ${then}` : `If you approve, ${left - 1} more must approve too; then ${then}`;
}

function whenNobody({ expiresAt, otherwise }: PendingApproval): Html {
  if (expiresAt === null) return html`If nobody decides, ${otherwise}.`;
  return html`If nobody decides by ${time(expiresAt)}, ${otherwise}.`;
}

function said({ votes, talk }: PendingApproval): Html | null {
  const lines = [
    ...votes.map(({ by, at, reason }) => ({ by, at, text: reason === null ? "approved" : `approved: ${reason}` })),
    ...talk,
  ].toSorted((a, b) => a.at - b.at);
  if (lines.length === 0) return null;
  return html`<h2>So far</h2>${lines.map(({ by, at, text }) => html`<p>${text} <span class="dim">${by}, ${time(at)}</span></p>`)}`;
}

function time(ms: number): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** Every value in it with the place where it stands. */
function leavesOf(value: Json, path = ""): readonly (readonly [path: string, value: string])[] {
  if (typeof value !== "object" || value === null) return [[path === "" ? "value" : path, shownAs(value)]];
  const inner = Array.isArray(value)
    ? value.map((each, at) => [`${path}[${at}]`, each] as const)
    : Object.entries(value).map(([name, each]) => [path === "" ? name : `${path}.${name}`, each] as const);
  if (inner.length === 0) return [[path === "" ? "value" : path, Array.isArray(value) ? "(empty list)" : "(nothing)"]];
  return inner.flatMap(([place, each]) => leavesOf(each, place));
}

function shownAs(value: string | number | boolean | null): string {
  if (value === "") return '""';
  return typeof value === "string" ? value : String(value);
}
