/** Owns: the shapes of a layout, and putting laid out parts together. */
import type { GraphEdge, GraphNode } from "../../saga/index.ts";
import type { Undoing } from "./words.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface DrawnNode extends Box {
  readonly node: GraphNode;
  readonly lines: readonly string[];
}
export interface DrawnUndo extends Box, Undoing {
  /** Of the node that it undoes. */
  readonly of: string;
}
export interface DrawnEdge {
  /** `null`: the way in. */
  readonly edge: GraphEdge | null;
  readonly points: readonly Point[];
  readonly text: string;
  /** Where the text begins. */
  readonly textAt: Point;
}

/** All places are absolute. Groups come before what they hold. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly DrawnNode[];
  readonly undos: readonly DrawnUndo[];
  readonly edges: readonly DrawnEdge[];
  /** From what is undone first to what is undone next. */
  readonly back: readonly (readonly Point[])[];
  /** Transitions of the machine itself. */
  readonly notes: readonly string[];
}

export const sizes = {
  line: 17,
  charName: 8.4,
  char: 7,
  padX: 14,
  padY: 11,
  gap: 34,
  row: 22,
  lane: 26,
  trackY: 22,
  trackX: 9,
  port: 18,
  topPort: 13,
  side: 22,
} as const;
export type Inside = Omit<Layout, "notes">;

export function moved({ width, height, ...parts }: Inside, dx: number, dy: number): Inside {
  const shift = <P extends Point>(point: P): P => ({ ...point, x: point.x + dx, y: point.y + dy });
  return {
    width: width + dx,
    height: height + dy,
    nodes: parts.nodes.map(shift),
    undos: parts.undos.map(shift),
    edges: parts.edges.map((edge) => ({ ...edge, points: edge.points.map(shift), textAt: shift(edge.textAt) })),
    back: parts.back.map((line) => line.map(shift)),
  };
}

/** A child of the state that is laid out: a box, with what is in it. */
export interface Cell {
  readonly node: GraphNode;
  readonly lines: readonly string[];
  readonly inside: Inside | null;
  readonly width: number;
  readonly height: number;
}

export function placedCell({ node, lines, inside, width, height }: Cell, x: number, y: number): Inside {
  const own = { width, height, nodes: [{ node, lines, x, y, width, height }], undos: [], edges: [], back: [] };
  return inside === null ? own : merged([own, moved(inside, x, y)]);
}

export function merged(parts: readonly Inside[]): Inside {
  return {
    width: 0,
    height: 0,
    nodes: parts.flatMap(({ nodes }) => nodes),
    undos: parts.flatMap(({ undos }) => undos),
    edges: parts.flatMap(({ edges }) => edges),
    back: parts.flatMap(({ back }) => back),
  };
}

export interface Lifted {
  readonly edge: GraphEdge;
  readonly from: number;
  readonly to: number;
}

export function isSame(one: Point, other: Point | undefined): boolean {
  return one.x === other?.x && one.y === other.y;
}
