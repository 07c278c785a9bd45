/** Owns: a diagram as a Mermaid flowchart, for READMEs and reviews: the same nodes, edges and words as the SVG. */
import type { GraphNode, SagaGraph } from "../../saga/index.ts";
import { edgeText, nodeLines, undoingsOf } from "./words.ts";

export function mermaidOf(graph: SagaGraph): readonly string[] {
  const names = new Map(graph.nodes.map(({ id }, at) => [id, `n${at}`]));
  const name = (id: string) => names.get(id) ?? "start";
  const starts = graph.nodes.filter(({ initial, parent }) => initial && parent === null);
  return [
    `%% ${graph.saga}@${graph.version}`,
    "flowchart LR",
    "  start((start))",
    ...within(graph, null, name, "  "),
    ...starts.map(({ id }) => `  start --> ${name(id)}`),
    ...graph.edges.map((edge) => {
      const text = edgeText(edge);
      const arrow = edge.kind === "error" ? "-.->" : "-->";
      return `  ${edge.source === null ? "start" : name(edge.source)} ${arrow}${text === "" ? "" : `|"${escaped(text)}"|`} ${name(edge.target)}`;
    }),
    ...undoLines(graph, name),
    "  classDef undo stroke:#7c3aed,stroke-dasharray:5 3",
    "  classDef unwind stroke:#b91c1c",
  ];
}

function within(
  graph: SagaGraph,
  parent: string | null,
  name: (id: string) => string,
  indent: string,
): readonly string[] {
  return graph.nodes
    .filter((node) => node.parent === parent)
    .flatMap((node): readonly string[] => {
      const isHolder = node.kind === "group" || node.kind === "parallel";
      if (!isHolder) return [`${indent}${name(node.id)}${shapeOf(node)}`];
      return [
        `${indent}subgraph ${name(node.id)}["${escaped(node.name)}"]`,
        ...within(graph, node.id, name, `${indent}  `),
        `${indent}end`,
      ];
    });
}

function shapeOf(node: GraphNode): string {
  const text = `"${nodeLines(node).map(escaped).join("<br/>")}"`;
  switch (node.kind) {
    case "choice":
      return `{${text}}`;
    case "event":
    case "timer":
      return `([${text}])`;
    case "final":
      return `(((${text})))`;
    case "unwind":
      return `(((${text}))):::unwind`;
    case "step":
    case "history":
    case "parallel":
    case "group":
      return `[${text}]`;
  }
}

/** Each beneath what it undoes; from what is undone first to what is undone next. */
function undoLines({ nodes }: SagaGraph, name: (id: string) => string): readonly string[] {
  const undone = nodes.flatMap((node) =>
    undoingsOf(node).flatMap(({ name: step, undo }, at) =>
      undo === null ? [] : [{ of: name(node.id), id: `${name(node.id)}u${at}`, step, undo, parent: node.parent }],
    ),
  );
  const boxes = undone.flatMap(({ id, of, step, undo }) => [
    `  ${id}["undo ${escaped(step)}<br/>${escaped(undo)}"]:::undo`,
    `  ${of} -.- ${id}`,
  ]);
  const back = undone.flatMap(({ id, parent }, at) => {
    const before = undone.slice(0, at).findLast((each) => each.parent === parent);
    return before === undefined ? [] : [`  ${id} -.-> ${before.id}`];
  });
  return [...boxes, ...back];
}

function escaped(text: string): string {
  return text.replace(/[<>&"#;]/g, (char) => `#${char.charCodeAt(0)};`);
}
