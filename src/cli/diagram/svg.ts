/** Owns: a laid out diagram as SVG: shapes, signs, colours. It brings no fonts and nothing from elsewhere; what it says is text. */
import type { GraphNode, SagaGraph } from "../../saga/index.ts";
import { layoutOf } from "./layout.ts";
import { type Box, type DrawnEdge, type DrawnNode, type DrawnUndo, type Layout, type Point, sizes } from "./parts.ts";

const fonts = "Helvetica, Arial, 'DejaVu Sans', sans-serif";

/** The same for the same graph, a line for each part. */
export function svgOf(graph: SagaGraph): readonly string[] {
  const layout = layoutOf(graph);
  const title = `${graph.saga}@${graph.version}`;
  const width = Math.max(layout.width, 48 + title.length * 10, 510);
  const height = layout.height + 26;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${xml(`Saga ${title}`)}" font-family="${fonts}">`,
    ...head,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="24" y="34" class="title">${xml(title)}</text>`,
    ...layout.notes.map((note, at) => `<text x="24" y="${54 + at * sizes.line}" class="small">${xml(note)}</text>`),
    ...layout.nodes.map(nodeSvg),
    ...layout.undos.map(undoSvg),
    ...layout.back.map((points) => `<path d="${pathOf(points)}" class="back" marker-end="url(#back)"/>`),
    ...layout.edges.flatMap(edgeSvg),
    ...legend(layout, height),
    "</svg>",
  ];
}

const head = [
  "<defs>",
  ...(["arrow #475569", "fail #b91c1c", "back #7c3aed"] as const).map((each) => {
    const [id, color] = each.split(" ");
    return `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" fill="${color}"/></marker>`;
  }),
  "</defs>",
  "<style>",
  ".title{font-size:16px;font-weight:bold;fill:#0f172a}",
  ".name{font-size:13px;font-weight:bold;fill:#0f172a}",
  ".small{font-size:11.5px;fill:#475569}",
  ".edge{fill:none;stroke:#475569;stroke-width:1.4}",
  ".fail{fill:none;stroke:#b91c1c;stroke-width:1.4;stroke-dasharray:5 3}",
  ".back{fill:none;stroke:#7c3aed;stroke-width:1.4;stroke-dasharray:5 3}",
  ".label{font-size:11.5px;fill:#334155;paint-order:stroke;stroke:#ffffff;stroke-width:4px;stroke-linejoin:round}",
  ".sign{fill:none;stroke:#334155;stroke-width:1.5}",
  "</style>",
];

interface Look {
  readonly fill: string;
  readonly stroke: string;
  readonly more?: string;
}

function lookOf(node: GraphNode): Look {
  switch (node.kind) {
    case "step":
      return stepLook(node);
    case "event":
    case "timer":
    case "history":
      return { fill: "#fffbeb", stroke: "#b45309", more: ' stroke-dasharray="6 3"' };
    case "choice":
      return { fill: "#f1f5f9", stroke: "#64748b" };
    case "final":
      return { fill: "#ecfdf5", stroke: "#047857" };
    case "unwind":
      return { fill: "#fef2f2", stroke: "#b91c1c" };
    case "parallel":
    case "group":
      return { fill: "#f8fafc", stroke: "#94a3b8" };
  }
}

function stepLook({ steps }: GraphNode): Look {
  const kind = steps[0]?.kind ?? "call";
  if (kind === "approval") return { fill: "#fff7ed", stroke: "#c2410c" };
  return kind === "call"
    ? { fill: "#eff6ff", stroke: "#1d4ed8" }
    : { fill: "#eef2ff", stroke: "#4338ca", more: ' stroke-width="2.5"' };
}

function nodeSvg({ node, lines, ...box }: DrawnNode): string {
  const { fill, stroke, more = "" } = lookOf(node);
  const sign = signOf(node, box);
  const left = box.x + sizes.padX + (sign === "" ? 0 : 22);
  const texts = lines.map((line, at) => {
    const x = at === 0 ? left : box.x + sizes.padX;
    return `<text x="${x}" y="${box.y + sizes.padY + 12 + at * sizes.line}" class="${at === 0 ? "name" : "small"}">${xml(line)}</text>`;
  });
  const round = node.kind === "final" || node.kind === "unwind" ? 18 : 7;
  return `<g id="${xml(node.id)}">${rect(box, round)} fill="${fill}" stroke="${stroke}"${more}/>${sign}${texts.join("")}</g>`;
}

function rect({ x, y, width, height }: Box, round: number): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${round}"`;
}

/** What kind of state it is, also for whoever sees no colours. */
function signOf({ kind, steps }: GraphNode, { x, y }: Point): string {
  const [cx, cy] = [x + sizes.padX + 7, y + sizes.padY + 8];
  const draw = (path: string) => `<path class="sign" d="${path}"/>`;
  const circle = `M${cx - 7} ${cy} a7 7 0 1 0 14 0 a7 7 0 1 0 -14 0`;
  switch (kind) {
    case "timer":
      return draw(`${circle} M${cx} ${cy - 4} V${cy} H${cx + 3}`);
    case "event":
      return draw(`M${cx - 7} ${cy - 5} h14 v10 h-14 z l7 6 l7 -6`);
    case "choice":
      return draw(`M${cx - 7} ${cy} L${cx} ${cy - 7} L${cx + 7} ${cy} L${cx} ${cy + 7} z`);
    case "final":
      return draw(`${circle} M${cx - 3.5} ${cy} l2.5 3 l4.5 -6`);
    case "unwind":
      return draw(`M${cx + 6} ${cy + 5} v-5 a4 4 0 0 0 -4 -4 h-8 m3 -4 l-3.5 4 l3.5 4`);
    case "step":
      return steps[0]?.kind === "approval"
        ? draw(`M${cx - 3} ${cy - 4} a3 3 0 1 0 6 0 a3 3 0 1 0 -6 0 M${cx - 6} ${cy + 7} a6 6 0 0 1 12 0`)
        : "";
    case "parallel":
      return draw(`M${cx - 6} ${cy - 4} h12 M${cx - 6} ${cy} h12 M${cx - 6} ${cy + 4} h12`);
    case "group":
    case "history":
      return draw(`M${cx - 6} ${cy - 6} h12 v12 h-12 z`);
  }
}

function undoSvg({ name, undo, ...box }: DrawnUndo): string {
  const isUndone = undo !== null;
  const look = isUndone
    ? 'fill="#f5f3ff" stroke="#7c3aed" stroke-dasharray="5 3"'
    : 'fill="#f8fafc" stroke="#94a3b8" stroke-dasharray="2 3"';
  const text = (at: number, className: string, line: string) =>
    `<text x="${box.x + sizes.padX}" y="${box.y + 19 + at * sizes.line}" class="${className}">${xml(line)}</text>`;
  const lines = isUndone
    ? [text(0, "name", `undo ${name}`), text(1, "small", undo)]
    : [text(0, "small", name), text(1, "small", "stays as it is")];
  return `<g>${rect(box, 7)} ${look}/>${lines.join("")}</g>`;
}

function edgeSvg({ edge, points, text, textAt }: DrawnEdge): readonly string[] {
  const isFailure = edge?.kind === "error";
  const [first] = points;
  const start =
    edge === null && first !== undefined ? [`<circle cx="${first.x}" cy="${first.y}" r="5" fill="#475569"/>`] : [];
  const line = `<path d="${pathOf(points)}" class="${isFailure ? "fail" : "edge"}" marker-end="url(#${isFailure ? "fail" : "arrow"})"/>`;
  const label = text === "" ? [] : [`<text x="${textAt.x}" y="${textAt.y}" class="label">${xml(text)}</text>`];
  return [...start, line, ...label];
}

function pathOf(points: readonly Point[]): string {
  return points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join(" ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function legend({ undos }: Layout, height: number): readonly string[] {
  const y = height - 14;
  if (!undos.some(({ undo }) => undo !== null))
    return [`<text x="24" y="${y}" class="small">nothing is undone when a run fails</text>`];
  return [
    `<path d="M54 ${y - 4} H26" class="back" marker-end="url(#back)"/>`,
    `<text x="62" y="${y}" class="small">when a run fails or is cancelled: what was done is undone, the last first</text>`,
  ];
}

function xml(text: string): string {
  return text.replace(/[<>&"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
