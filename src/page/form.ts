/**
 * What an approval wants filled in, as fields of a form: one for each property of a flat object, else one for the whole as JSON.
 * Owns both ways, there and back. What was filled in is judged by the approval's own schema, not here.
 */
import type { Json } from "../saga/index.ts";
import { type Html, html } from "./html.ts";

type Kind = "text" | "number" | "boolean";

interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly label: string;
  readonly isRequired: boolean;
}

const kinds: Readonly<Record<string, Kind>> = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};
/** Field names of the page itself have none of it. */
const prefix = "form.";

/** The fields of a JSON schema; `null`: it is not a flat object. */
function fieldsOf(schema: Json): readonly Field[] | null {
  const { properties, required } = objectOf(schema);
  if (properties === undefined) return null;
  const fields = Object.entries(objectOf(properties)).map(([name, property]): Field | null => {
    const { type, title, description } = objectOf(property);
    const kind = typeof type === "string" ? kinds[type] : undefined;
    const label = [title, description, name].find((each) => typeof each === "string") as string;
    const isRequired = Array.isArray(required) && required.includes(name);
    return kind === undefined ? null : { name, kind, label, isRequired };
  });
  return fields.every((field) => field !== null) ? fields : null;
}

function objectOf(value: Json | undefined): Readonly<Record<string, Json>> {
  // What is neither null nor an array is an object with names.
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Json>>)
    : {};
}

/** The fields to be filled in; `given`: what was filled in before. */
export function formFields(schema: Json, given: URLSearchParams): Html {
  const fields = fieldsOf(schema);
  if (fields !== null) return html`${fields.map((field) => input(field, given.get(prefix + field.name)))}`;
  return html`<label for="form">To be filled in to approve, as JSON</label>
<textarea id="form" name="form" rows="4">${given.get("form") ?? ""}</textarea>`;
}

function input({ name, kind, label }: Field, given: string | null): Html {
  const id = `${prefix}${name}`;
  if (kind === "boolean") {
    return html`<label class="check"><input type="checkbox" name="${id}" value="true"${given === null ? null : html` checked`}> ${label}</label>`;
  }
  const step = kind === "number" ? html` step="any"` : null;
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${id}" type="${kind}"${step} value="${given ?? ""}">`;
}

/** What was filled in, as JSON; `undefined`: it cannot be read as JSON. */
export function filledIn(schema: Json, given: URLSearchParams): Json | undefined {
  const fields = fieldsOf(schema);
  if (fields === null) return parsed(given.get("form") ?? "");
  const values = fields.flatMap((field) => {
    const value = read(field, given.get(prefix + field.name));
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return Object.fromEntries(values);
}

function read({ kind, isRequired }: Field, text: string | null): Json | undefined {
  if (kind === "boolean") return text !== null;
  if (text === null || (text === "" && !isRequired)) return undefined;
  return kind === "number" && text.trim() !== "" ? Number(text) : text;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
