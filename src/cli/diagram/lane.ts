/**
 * Owns: the lane of what undoes, under what it undoes; in reverse order from right to left, through the states that hold others. What stays
 * as it is stands lower where the way back would run over it.
 */
import { type Box, type Cell, type DrawnUndo, type Inside, type Point, sizes } from "./parts.ts";
import { type Undoing, undoingsOf } from "./words.ts";

/** A cell where it stands. */
export type Placed = Cell & Box & { readonly column: number };

/** Where the way back passes; of a state that holds others: is any of them undone? */
interface Stop extends Box {
  readonly undoes: boolean;
  readonly column: number;
}

const height = 2 * sizes.line + sizes.padY;

/** `top`: where the rows begin. */
export function laneOf(cells: readonly Placed[], top: number): Pick<Inside, "undos" | "back" | "height"> {
  const lane = Math.max(top, ...cells.flatMap((cell) => (cell.inside === null ? [bottomOf(cell)] : []))) + sizes.lane;
  const columns = cells.flatMap((cell) => (undoesAny(cell) ? [cell.column] : []));
  const isCrossed = (column: number) => columns.some((each) => each < column) && columns.some((each) => each > column);
  const stops: Stop[] = [];
  const undos: DrawnUndo[] = [];
  for (let column = 0; column <= Math.max(...cells.map((cell) => cell.column)); column += 1) {
    const here = cells.filter((cell) => cell.column === column);
    const holders = here.filter(({ inside }) => inside !== null);
    stops.push(...holders.map((cell) => ({ ...boxOf(cell), column, undoes: undoesAny(cell) })));
    const below = Math.max(lane, ...holders.map((cell) => bottomOf(cell) + sizes.lane));
    const drawn = drawnUnder(here, below, isCrossed(column));
    undos.push(...drawn);
    stops.push(...drawn.filter(isUndone).map((undo) => ({ ...boxOf(undo), column, undoes: true })));
  }
  const bottom = Math.max(...[...cells, ...undos].map(bottomOf));
  return { undos, back: backLines(stops, lane + sizes.side), height: bottom };
}

function bottomOf(box: Box): number {
  return box.y + box.height;
}

function boxOf({ x, y, width, height: tall }: Box): Box {
  return { x, y, width, height: tall };
}

function isUndone({ undo }: Undoing): boolean {
  return undo !== null;
}

function undoesAny({ node, inside }: Cell): boolean {
  return (inside === null ? undoingsOf(node) : inside.undos).some(isUndone);
}

/** One under the other, what is undone first. */
function drawnUnder(here: readonly Placed[], y: number, isCrossed: boolean): readonly DrawnUndo[] {
  const all = here.flatMap(({ node, x }) =>
    undoingsOf(node).map((undoing) => ({ ...undoing, of: node.id, x, width: widthOfUndo(undoing) })),
  );
  const sorted = [...all.filter(isUndone), ...all.filter((each) => !isUndone(each))];
  const skipped = isCrossed && !sorted.some(isUndone) ? 1 : 0;
  return sorted.map((undo, at) => ({ ...undo, y: y + (at + skipped) * (height + 10), height }));
}

function widthOfUndo({ name, undo }: Undoing): number {
  const widest = Math.max((name.length + 5) * sizes.charName, (undo ?? "stays as it is").length * sizes.char + 8);
  return Math.ceil(widest + 2 * sizes.padX);
}

/** Columns that what stands under a cell takes. */
export function undoWidth(cell: Cell | undefined): number {
  return cell === undefined ? 0 : Math.max(0, ...undoingsOf(cell.node).map(widthOfUndo));
}

/** From each to the one before it, at the height of the lane wherever there is anything in between. */
function backLines(all: readonly Stop[], lane: number): readonly (readonly Point[])[] {
  const first = all.findIndex(({ undoes }) => undoes);
  const stops = first < 0 ? [] : all.slice(first, all.findLastIndex(({ undoes }) => undoes) + 1);
  return stops.slice(1).map((later, at) => backLine(later, stops[at] ?? later, lane));
}

function backLine(later: Stop, earlier: Stop, lane: number): readonly Point[] {
  if (earlier.column === later.column) {
    const x = later.x + 20;
    return [
      { x, y: later.y },
      { x, y: bottomOf(earlier) },
    ];
  }
  const heightAt = ({ y, height: tall }: Box) => Math.min(Math.max(lane, y + 12), y + tall - 8);
  const [a, b] = [
    { x: later.x, y: heightAt(later) },
    { x: earlier.x + earlier.width, y: heightAt(earlier) },
  ];
  const [near, far] = [a.x - 12, b.x + 16];
  const from = a.y === lane ? [a] : [a, { x: near, y: a.y }, { x: near, y: lane }];
  return b.y === lane ? [...from, b] : [...from, { x: far, y: lane }, { x: far, y: b.y }, b];
}
