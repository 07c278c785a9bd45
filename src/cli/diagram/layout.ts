/**
 * Owns: where the parts of a diagram stand. Forward from left to right in columns, the usual way on top; under each row of columns
 * the lane of what undoes it, mirrored; states that hold others are boxes laid out by themselves. Edges run in the gaps between columns, and
 * over the rows where they go further or back.
 *
 * Invariants: Y1 the same graph gives the same picture. Y2 nothing is drawn over a box.
 */
import type { GraphNode, SagaGraph } from "../../saga/index.ts";
import { type Cell, type Inside, type Layout, type Lifted, merged, moved, placedCell, sizes } from "./parts.ts";
import { Rows } from "./rows.ts";
import { edgeText, nodeLines } from "./words.ts";

const margin = 24;
const titleHeight = 30;

export function layoutOf(graph: SagaGraph): Layout {
  const inner = layoutInside(graph, null);
  const notes = graph.edges.flatMap((edge) =>
    edge.source === null ? [`wherever it is, ${edgeText(edge)}: to ${nameOf(graph, edge.target)}`] : [],
  );
  const placed = moved(inner, margin, margin + titleHeight + notes.length * sizes.line);
  return { ...placed, notes, width: Math.ceil(inner.width + 2 * margin), height: Math.ceil(placed.height + margin) };
}

function nameOf({ nodes }: SagaGraph, id: string): string {
  return nodes.find((node) => node.id === id)?.name ?? id;
}

/** What stands directly in `parent`, edges between any of it lifted to there. */
function layoutInside(graph: SagaGraph, parent: string | null): Inside {
  const children = graph.nodes.filter((node) => node.parent === parent);
  const cells = children.map((node) => cellOf(graph, node));
  if (graph.nodes.find(({ id }) => id === parent)?.kind === "parallel") return stacked(cells);
  const edges = liftedTo(graph, children);
  const columns = columnsOf(children, edges);
  return new Rows(cells, edges, columns).layout();
}

function cellOf(graph: SagaGraph, node: GraphNode): Cell {
  const lines = nodeLines(node);
  if (node.kind !== "group" && node.kind !== "parallel") return { node, lines, inside: null, ...sizeOf(node, lines) };
  const inside = layoutInside(graph, node.id);
  const head = sizes.padY + lines.length * sizes.line + 8;
  const width = Math.max(inside.width + 2 * sizes.padX, sizeOf(node, lines).width);
  return { node, lines, inside: moved(inside, sizes.padX, head), width, height: head + inside.height + sizes.padY };
}

function sizeOf({ kind }: GraphNode, lines: readonly string[]): { readonly width: number; readonly height: number } {
  const widest = Math.max(...lines.map((line, at) => line.length * (at === 0 ? sizes.charName : sizes.char)));
  const sign = kind === "step" ? 0 : 22;
  return {
    width: Math.max(84, Math.ceil(widest + sign + 2 * sizes.padX)),
    height: 2 * sizes.padY + lines.length * sizes.line,
  };
}

/** Regions, one under the other. */
function stacked(cells: readonly Cell[]): Inside {
  let y = 0;
  const parts: Inside[] = [];
  for (const cell of cells) {
    parts.push(placedCell(cell, 0, y));
    y += cell.height + sizes.row;
  }
  return {
    ...merged(parts),
    width: Math.max(0, ...cells.map(({ width }) => width)),
    height: Math.max(0, y - sizes.row),
  };
}

/** Edges whose ends stand in two different children of the same state; by index of the child. */
function liftedTo({ nodes, edges }: SagaGraph, children: readonly GraphNode[]): readonly Lifted[] {
  const parents = new Map(nodes.map(({ id, parent }) => [id, parent]));
  const indexOf = (id: string | null | undefined): number => {
    if (id === null || id === undefined) return -1;
    const at = children.findIndex((child) => child.id === id);
    return at >= 0 ? at : indexOf(parents.get(id));
  };
  return edges.flatMap((edge): readonly Lifted[] => {
    const [from, to] = [indexOf(edge.source), indexOf(edge.target)];
    const isHere = from >= 0 && to >= 0 && (from !== to || edge.source === children[from]?.id);
    return isHere ? [{ edge, from, to }] : [];
  });
}

/** The column of each child: the longest way from where it begins, without going back. */
function columnsOf(children: readonly GraphNode[], edges: readonly Lifted[]): readonly number[] {
  const columns: number[] = children.map(() => 0);
  const state: ("new" | "open" | "done")[] = children.map(() => "new");
  const order: number[] = [];
  const forward: Lifted[] = [];
  const visit = (at: number): void => {
    state[at] = "open";
    for (const edge of edges.filter(({ from }) => from === at)) {
      if (state[edge.to] === "open") continue;
      forward.push(edge);
      if (state[edge.to] === "new") visit(edge.to);
    }
    state[at] = "done";
    order.unshift(at);
  };
  const starts = [...children.keys()].sort((a, b) => Number(children[b]?.initial) - Number(children[a]?.initial));
  for (const at of starts) if (state[at] === "new") visit(at);
  for (const at of order) {
    for (const { to } of forward.filter(({ from }) => from === at))
      columns[to] = Math.max(columns[to] ?? 0, (columns[at] ?? 0) + 1);
  }
  return columns;
}
