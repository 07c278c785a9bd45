/** HTML as text that cannot be broken out of: every value that is put in is escaped unless it is HTML itself. */

/** A piece of HTML. */
export interface Html {
  readonly html: string;
}

type Part = Html | string | number | null | readonly Html[];

/** HTML with values put in, escaped; `null` is nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return { html: texts.map((text, at) => text + written(values[at] ?? null)).join("") };
}

function written(value: Part): string {
  if (value === null) return "";
  if (typeof value === "string" || typeof value === "number") return escaped(String(value));
  return "html" in value ? value.html : value.map((each) => each.html).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
