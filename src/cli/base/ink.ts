/**
 * Owns: what may reach a terminal. Text is made of pieces; each is cleaned, then coloured, so that what users, probes and other
 * services wrote can neither move the cursor, nor colour, nor hide anything.
 *
 * Invariant: K1 no control character (C0, C1, DEL) and no character that turns the direction of writing leaves here, but for
 * the colours that are put in after cleaning, and the line ends between lines.
 */
import type { Colors } from "../colors.ts";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta" | "blue";

/** A piece in a style. */
export interface Ink {
  readonly text: string;
  readonly style: Style;
}

/** One line, or one cell of a table: plain and styled pieces one after the other. */
export type Line = string | Ink | readonly (string | Ink)[];

export function ink(style: Style, text: string): Ink {
  return { style, text };
}

const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text with every control character shown as an escape. */
export function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (char) => {
    const code = char.charCodeAt(0);
    return named[char] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`);
  });
}

export function draw(line: Line, colors: Colors): string {
  return piecesOf(line)
    .map((piece) => (typeof piece === "string" ? clean(piece) : colors[piece.style](clean(piece.text))))
    .join("");
}

function piecesOf(line: Line): readonly (string | Ink)[] {
  return typeof line === "string" || "style" in line ? [line] : line;
}
