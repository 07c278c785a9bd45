/** A few gauges as text, beside those of a registry that this process may have. */
import type { MetricsPage } from "./admin.ts";
import { type AdminMetricName, adminCatalogue } from "./catalogue.ts";

export interface Gauge {
  readonly name: AdminMetricName;
  readonly samples: readonly GaugeSample[];
}

export interface GaugeSample {
  readonly labels: Readonly<Record<string, string>>;
  /** `null`: not known; it is left out. */
  readonly value: number | null;
}

const end = "# EOF\n";
const prometheus = "text/plain; version=0.0.4; charset=utf-8";

/** A page with these gauges at its end. Both text formats write a gauge alike; one of them says where it ends. */
export function withGauges(page: MetricsPage | null, gauges: readonly Gauge[]): MetricsPage {
  const { text, contentType } = page ?? { text: "", contentType: prometheus };
  const isOpen = text.endsWith(end);
  const before = isOpen ? text.slice(0, -end.length) : text;
  return { text: `${before}${gauges.map(textOf).join("")}${isOpen ? end : ""}`, contentType };
}

function textOf({ name, samples }: Gauge): string {
  const lines = samples.flatMap(({ labels, value }) =>
    value === null ? [] : [`${name}${labelsOf(labels)} ${value}\n`],
  );
  return `# HELP ${name} ${adminCatalogue[name].help}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

function labelsOf(labels: GaugeSample["labels"]): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
