/** The files of `deploy/` that are made, by path from the root, each with what it holds. */
import { stringify } from "yaml";
import { groups, sloGroups } from "./alerts.ts";
import { dashboard } from "./dashboard.ts";

const made = "# Made by `npm run deploy:files` from deploy/source; change it there.\n";
const yaml = (value: unknown): string => `${made}${stringify(value, { lineWidth: 0 })}`;

const monitoring = "deploy/kubernetes/components/monitoring";

export const files: Readonly<Record<string, string>> = {
  "deploy/observability/alerts.yml": yaml({ groups }),
  "deploy/observability/slo.yml": yaml({ groups: sloGroups }),
  [`${monitoring}/prometheus-rule.yaml`]: yaml({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "reprise" },
    spec: { groups: [...groups, ...sloGroups] },
  }),
  [`${monitoring}/dashboard.json`]: `${JSON.stringify(dashboard, null, 2)}\n`,
};
