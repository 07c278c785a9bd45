/** Owns: where cells stand in columns, and how edges run between and over them (`layout.ts` says for whom). */
import { laneOf, undoWidth } from "./lane.ts";
import {
  type Box,
  type Cell,
  type DrawnEdge,
  type Inside,
  isSame,
  type Lifted,
  merged,
  type Point,
  placedCell,
  sizes,
} from "./parts.ts";
import { edgeText } from "./words.ts";

/** Where an edge touches a box: over its top, or at its side; `at`: the how-manieth there, of `of`. */
interface Port {
  readonly isTop: boolean;
  readonly at: number;
  readonly of: number;
}

/** Columns of cells, the lane beneath them, and the edges around them. */
export class Rows {
  readonly #cells: readonly Cell[];
  readonly #edges: readonly Lifted[];
  readonly #columns: readonly number[];
  /** Left side of each column. */
  readonly #lefts: number[] = [];
  readonly #tracks: readonly (number | null)[];
  readonly #out: readonly Port[];
  readonly #in: readonly Port[];
  readonly #top: number;
  readonly #boxes: readonly Box[] = [];
  readonly #width: number;
  /** Edges that have turned before a column so far. */
  readonly #turned = new Map<number, number>();

  constructor(cells: readonly Cell[], edges: readonly Lifted[], columns: readonly number[]) {
    this.#columns = columns;
    this.#edges = edges;
    this.#tracks = tracksOf(edges, columns);
    this.#out = this.#ports("from");
    this.#in = this.#ports("to");
    this.#cells = cells.map((cell, at) => this.#withRoom(cell, at));
    const tracks = Math.max(0, ...this.#tracks.map((track) => (track === null ? 0 : track + 1)));
    this.#top = tracks === 0 ? 0 : tracks * sizes.trackY + 6;
    const placed = this.#place();
    this.#boxes = placed.boxes;
    this.#width = placed.width;
  }

  layout(): Inside {
    const cells = this.#cells.map((cell, at) => placedCell(cell, this.#box(at).x, this.#box(at).y));
    const edges = [...this.#wayIn(), ...this.#edges.map((edge, at) => this.#edge(edge, at))];
    const { undos, back, height } = laneOf(
      this.#cells.map((cell, at) => ({ ...cell, ...this.#box(at), column: this.#columns[at] ?? 0 })),
      this.#top,
    );
    const own: Inside = { width: 0, height: 0, nodes: [], undos, back, edges };
    return { ...merged([...cells, own]), width: this.#width, height };
  }

  #box(at: number): Box {
    return this.#boxes[at] ?? { x: 0, y: 0, width: 0, height: 0 };
  }

  #inColumn(column: number): readonly number[] {
    return [...this.#columns.keys()].filter((at) => this.#columns[at] === column);
  }

  /** What runs over the rows leaves by the top where nothing is in between. In an order in which they do not cross. */
  #ports(end: "from" | "to"): readonly Port[] {
    const isTop = (at: number) =>
      this.#tracks[at] !== null &&
      this.#inColumn(this.#columns[this.#edges[at]?.[end] ?? 0] ?? 0)[0] === this.#edges[at]?.[end];
    const track = (at: number) => this.#tracks[at] ?? -1;
    return this.#edges.map((edge, at) => {
      const beside = [...this.#edges.keys()].filter(
        (other) => this.#edges[other]?.[end] === edge[end] && isTop(other) === isTop(at),
      );
      const rising = end === "to" && isTop(at) ? 1 : -1;
      const sorted = beside.toSorted((a, b) => rising * (track(a) - track(b)) || a - b);
      return { isTop: isTop(at), at: sorted.indexOf(at), of: sorted.length };
    });
  }

  /** A box is as large as what touches it needs. */
  #withRoom(cell: Cell, at: number): Cell {
    const count = (end: "from" | "to", isTop: boolean) =>
      this.#edges.filter((edge, i) => edge[end] === at && (end === "from" ? this.#out : this.#in)[i]?.isTop === isTop)
        .length;
    const beside = Math.max(count("from", false), count("to", false), 1);
    const over = count("from", true) + count("to", true);
    return {
      ...cell,
      height: Math.max(cell.height, sizes.side + (beside - 1) * sizes.port + 14),
      width: Math.max(cell.width, over * sizes.topPort + 24),
    };
  }

  #place(): { readonly boxes: readonly Box[]; readonly width: number } {
    const boxes: Box[] = [];
    let x = 34;
    let right = x;
    for (let column = 0; column <= Math.max(0, ...this.#columns); column += 1) {
      this.#lefts.push(x);
      let y = this.#top;
      for (const at of this.#inColumn(column)) {
        const { width = 0, height = 0 } = this.#cells[at] ?? {};
        boxes[at] = { x, y, width, height };
        y += height + sizes.row;
        right = Math.max(right, x + width, x + undoWidth(this.#cells[at]));
      }
      x = right + this.#gapAfter(column);
    }
    return { boxes, width: right };
  }

  /** Wide enough for the texts of what goes straight to the next column, and for all that turns there. */
  #gapAfter(column: number): number {
    const at = [...this.#edges.keys()];
    const straight = at.filter((i) => this.#tracks[i] === null && this.#columns[this.#edges[i]?.from ?? 0] === column);
    const text = Math.max(0, ...straight.map((i) => textOf(this.#edges[i]).length * sizes.char));
    return sizes.gap + text + (this.#risersAfter(column) + this.#turnsBefore(column + 1)) * sizes.trackX;
  }

  #risersAfter(column: number): number {
    return this.#edges.filter(
      ({ from }, at) => this.#columns[from] === column && this.#tracks[at] !== null && this.#out[at]?.isTop === false,
    ).length;
  }

  #turnsBefore(column: number): number {
    return this.#edges.filter(({ to }, at) => this.#columns[to] === column && this.#in[at]?.isTop === false).length;
  }

  #wayIn(): readonly DrawnEdge[] {
    return this.#cells.flatMap(({ node }, at): readonly DrawnEdge[] => {
      if (!node.initial) return [];
      const { x, y } = this.#box(at);
      const points = [
        { x: x - 26, y: y + sizes.side },
        { x, y: y + sizes.side },
      ];
      return [{ edge: null, points, text: "", textAt: { x, y } }];
    });
  }

  #edge(lifted: Lifted, at: number): DrawnEdge {
    const track = this.#tracks[at] ?? null;
    return track === null
      ? this.#straight(lifted, at)
      : this.#over(lifted, at, this.#top - 6 - (track + 0.5) * sizes.trackY + 6);
  }

  /** To the next column. */
  #straight(lifted: Lifted, at: number): DrawnEdge {
    const { edge, from, to } = lifted;
    const [a, b] = [this.#leaves(from, at), this.#enters(to, at)];
    const bend = this.#turnBefore(to);
    const points = a.y === b.y ? [a, b] : [a, { x: bend, y: a.y }, { x: bend, y: b.y }, b];
    const risers = this.#risersAfter(this.#columns[from] ?? 0);
    return { edge, points, text: edgeText(edge), textAt: { x: a.x + 6 + risers * sizes.trackX, y: a.y - 4 } };
  }

  /** Further, or back: over the rows, at the height `y`. */
  #over({ edge, from, to }: Lifted, at: number, y: number): DrawnEdge {
    const [a, b] = [this.#leaves(from, at), this.#enters(to, at)];
    const column = this.#columns[from] ?? 0;
    const riser = this.#out[at]?.isTop ? a.x : this.#rightOf(column) + 8 + (this.#out[at]?.at ?? 0) * sizes.trackX;
    const fall = this.#in[at]?.isTop ? b.x : this.#turnBefore(to);
    const points = [a, { x: riser, y: a.y }, { x: riser, y }, { x: fall, y }, { x: fall, y: b.y }, b];
    return {
      edge,
      points: points.filter((point, i) => i === 0 || !isSame(point, points[i - 1])),
      text: edgeText(edge),
      textAt: { x: Math.min(riser, fall) + 6, y: y - 4 },
    };
  }

  #leaves(from: number, at: number): Point {
    const box = this.#box(from);
    const port = this.#out[at];
    const side = { x: box.x + box.width, y: box.y + sizes.side + (port?.at ?? 0) * sizes.port };
    return port?.isTop ? { x: box.x + box.width - 12 - (port.of - 1 - port.at) * sizes.topPort, y: box.y } : side;
  }

  #enters(to: number, at: number): Point {
    const box = this.#box(to);
    const port = this.#in[at];
    const side = { x: box.x, y: box.y + sizes.side + (port?.at ?? 0) * sizes.port };
    return port?.isTop ? { x: box.x + 12 + port.at * sizes.topPort, y: box.y } : side;
  }

  #turnBefore(to: number): number {
    const column = this.#columns[to] ?? 0;
    const turned = this.#turned.get(column) ?? 0;
    this.#turned.set(column, turned + 1);
    return this.#box(to).x - 16 - turned * sizes.trackX;
  }

  #rightOf(column: number): number {
    return Math.max(0, ...this.#inColumn(column).map((at) => this.#box(at).x + this.#box(at).width));
  }
}

function textOf(lifted: Lifted | undefined): string {
  return lifted === undefined ? "" : edgeText(lifted.edge);
}

/** Over which track an edge runs that goes further than the next column, or back; the shortest lowest. `null`: straight. */
function tracksOf(edges: readonly Lifted[], columns: readonly number[]): readonly (number | null)[] {
  const spans = edges.map(({ from, to }) => [columns[from] ?? 0, columns[to] ?? 0] as const);
  const far = [...edges.keys()].filter((at) => (spans[at]?.[1] ?? 0) !== (spans[at]?.[0] ?? 0) + 1);
  const length = (at: number) => Math.abs((spans[at]?.[1] ?? 0) - (spans[at]?.[0] ?? 0));
  const tracks: (number | null)[] = edges.map(() => null);
  const taken: (readonly [number, number])[][] = [];
  for (const at of far.toSorted((a, b) => length(a) - length(b) || a - b)) {
    const [from, to] = spans[at] ?? [0, 0];
    const span = [Math.min(from, to - 1), Math.max(from, to - 1)] as const;
    const free = taken.findIndex((others) => others.every(([a, b]) => b < span[0] || a > span[1]));
    const track = free >= 0 ? free : taken.length;
    taken[track] = [...(taken[track] ?? []), span];
    tracks[at] = track;
  }
  return tracks;
}
