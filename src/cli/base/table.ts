/** Owns: a table without frames, so that what is copied from it holds none. Nothing is cut: what is long stands in the last column. */
import Table from "cli-table3";
import type { Colors } from "../colors.ts";
import { draw, ink, type Line } from "./ink.ts";

/** A column of things: its title, and what stands in it. */
export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item) => Line;
  /** Only with `-o wide`. */
  readonly wide?: true;
  readonly align?: "right";
}

const unframed = Object.fromEntries(
  ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
    .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid"])
    .map((part) => [part, ""]),
);

/** The lines of a table; none where there is nothing to show. */
export function tableLines<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  colors: Colors,
): readonly string[] {
  if (items.length === 0) return [];
  const table = new Table({
    head: columns.map(({ title }) => draw(ink("bold", title), colors)),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...unframed, middle: "  " },
    colAligns: columns.map(({ align }) => align ?? "left"),
  });
  for (const item of items) table.push(columns.map(({ cell }) => draw(cell(item), colors)));
  return table.toString().replace(/ +$/gm, "").split("\n");
}
