import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { groups, sloGroups } from "../../deploy/source/alerts.ts";
import { dashboard } from "../../deploy/source/dashboard.ts";
import { files } from "../../deploy/source/files.ts";
import { adminCatalogue } from "../../src/admin/catalogue.ts";
import { readConfig, variables } from "../../src/config.ts";
import { catalogue } from "../../src/telemetry/catalogue.ts";
import { problemWith } from "../support/cli-words.ts";

/** No cluster and no engine is needed: everything below `deploy/` is read, and what its parts say of each other compared. */

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const home = join(root, "deploy/kubernetes");

type Labels = Readonly<Record<string, string>>;

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly envFrom: readonly { readonly configMapRef?: { name: string }; readonly secretRef?: { name: string } }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle?: object;
  readonly resources: { readonly requests: Labels; readonly limits: Labels };
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Labels } }[];
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string }[];
}

interface Relabel {
  readonly targetLabel?: string;
  readonly target_label?: string;
  readonly replacement: string;
}

/** What alerts are grouped by. */
const labelled = (namespace: string): Relabel => ({ target_label: "reprise_ns", replacement: namespace });

/** What is looked at of any object; parts that another kind does not have are not there. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly data?: Labels;
  readonly stringData?: Labels;
  readonly spec: {
    readonly replicas: number;
    readonly minAvailable: number;
    readonly minReplicaCount: number;
    readonly scaleTargetRef: { readonly name: string };
    readonly triggers: readonly { readonly metadata: Labels }[];
    readonly podSelector: { readonly matchLabels: Labels };
    readonly selector: {
      readonly matchLabels: Labels;
      readonly matchExpressions: readonly [{ key: string; values: string[] }];
    };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
    readonly endpoints: readonly {
      readonly port: string;
      readonly path: string;
      readonly relabelings: readonly Relabel[];
    }[];
    readonly jobLabel: string;
  };
}

interface Kustomization {
  readonly kind: string;
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly target: { readonly kind: string; readonly name: string } }[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly images?: readonly { readonly name: string; readonly newTag: string }[];
  readonly labels?: readonly { readonly pairs: Labels; readonly includeTemplates: boolean }[];
}

const yamlFiles = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".yaml"));

function documents(path: string): readonly unknown[] {
  return parseAllDocuments(readFileSync(path, "utf8")).map((document) => {
    expect(document.errors, path).toEqual([]);
    return document.toJS() as unknown;
  });
}

function kustomization(folder: string): Kustomization {
  return documents(join(folder, "kustomization.yaml"))[0] as Kustomization;
}

/** All that an overlay names, its bases and components included: files, then their objects. */
function named(folder: string): readonly string[] {
  const { resources = [], components = [] } = kustomization(folder);
  return [...resources, ...components].flatMap((entry) => {
    const path = join(folder, entry);
    return entry.endsWith(".yaml") ? [path] : [join(path, "kustomization.yaml"), ...named(path)];
  });
}

const overlay = join(home, "overlays/example");
const base = kustomization(join(home, "base"));
const used = named(overlay);
const objects = used
  .filter((path) => !path.endsWith("kustomization.yaml") && existsSync(path))
  .flatMap(documents) as readonly Manifest[];
const ofKind = (kind: string) => objects.filter((each) => each.kind === kind);
const deployments = ofKind("Deployment");
const [config] = ofKind("ConfigMap");
const added: Labels = Object.assign({}, ...(base.labels ?? []).map(({ pairs }) => pairs));

const podLabels = ({ spec }: Manifest): Labels => ({ ...spec.template.metadata.labels, ...added });
const isMatched = (selector: Labels, labels: Labels) =>
  Object.entries(selector).every(([key, value]) => labels[key] === value);
const containerOf = ({ spec }: Manifest): Container => spec.template.spec.containers[0];

describe("deploy/kubernetes", () => {
  test("every file is an object with a kind and a name, and is reached from the example or is the template of a secret", () => {
    const reached = new Set([...used, join(overlay, "kustomization.yaml")]);
    const others = yamlFiles.filter((file) => !reached.has(join(home, file)));
    expect(others).toEqual(["secret.example.yaml"]);
    expect([...reached].filter((path) => !existsSync(path))).toEqual([]);
    for (const { apiVersion, kind, metadata } of objects)
      expect(`${apiVersion} ${kind} ${metadata.name}`).toMatch(/^\S+ \S+ \S+$/);
    const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("files that are put into config maps exist, and what is patched is there", () => {
    for (const path of used.filter((each) => each.endsWith("kustomization.yaml"))) {
      const { patches = [], configMapGenerator = [] } = kustomization(dirname(path));
      for (const { files: given } of configMapGenerator)
        for (const file of given)
          expect(existsSync(join(dirname(path), file.split("=").at(-1) ?? "")), file).toBe(true);
      for (const { target } of patches)
        expect(ofKind(target.kind).map(({ metadata }) => metadata.name)).toContain(target.name);
    }
  });

  test("a selector selects: deployments their own pods, services, budgets and policies somebody's", () => {
    for (const deployment of deployments) {
      const { selector, template } = deployment.spec;
      expect(isMatched(selector.matchLabels, template.metadata.labels)).toBe(true);
      for (const { labelSelector } of template.spec.topologySpreadConstraints ?? [])
        expect(isMatched(labelSelector.matchLabels, template.metadata.labels)).toBe(true);
    }
    const selectors = [
      ...ofKind("Service").map(({ spec }) => spec.selector as unknown as Labels),
      ...ofKind("PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
      ...ofKind("NetworkPolicy").map(({ spec }) => spec.podSelector.matchLabels),
    ];
    expect(selectors.length).toBeGreaterThan(4);
    for (const selector of selectors)
      expect(
        deployments.some((each) => isMatched(selector, podLabels(each))),
        JSON.stringify(selector),
      ).toBe(true);
  });

  test("metrics are scraped from every process, by the port that it opens, under the job that alerts name", () => {
    const [monitor] = ofKind("ServiceMonitor");
    const [{ key, values }] = monitor!.spec.selector.matchExpressions;
    const services = ofKind("Service").filter(({ metadata }) => values.includes(metadata.labels?.[key] ?? ""));
    expect(services).toHaveLength(deployments.length);
    for (const service of services) {
      const pods = deployments.find((each) => isMatched(service.spec.selector as unknown as Labels, podLabels(each)));
      const [port] = service.spec.ports;
      expect(monitor!.spec.endpoints.map((endpoint) => endpoint.port)).toEqual([port!.name]);
      expect(containerOf(pods!).ports).toContainEqual({ name: port!.targetPort, containerPort: port!.port });
    }
    const jobs = services.map(({ metadata }) => metadata.labels?.[monitor!.spec.jobLabel]);
    expect(jobs.sort()).toEqual(jobsOfAlerts());
  });

  test.each(deployments)(
    "$metadata.name: probes ask the admin port, and patience is longest at the start",
    (deployment) => {
      const { ports, startupProbe, livenessProbe, readinessProbe, lifecycle } = containerOf(deployment);
      expect(ports).toEqual([{ name: "admin", containerPort: 9464 }]);
      expect(readConfig(config!.data!)).toMatchObject({ adminPort: 9464, adminHost: "0.0.0.0" });
      const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => [httpGet.path, httpGet.port]);
      expect(asked).toEqual([
        ["/startupz", "admin"],
        ["/livez", "admin"],
        ["/readyz", "admin"],
      ]);
      const patience = ({ periodSeconds, failureThreshold }: Probe) => periodSeconds * failureThreshold;
      expect(patience(startupProbe)).toBeGreaterThan(patience(livenessProbe));
      expect(lifecycle).toBeUndefined();
    },
  );

  test.each(deployments)(
    "$metadata.name runs as nobody in particular, and writes to nothing but /tmp",
    (deployment) => {
      const { spec } = deployment.spec.template;
      const { securityContext, volumeMounts, resources } = containerOf(deployment);
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
      });
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(volumeMounts.map(({ mountPath }) => mountPath)).toEqual(["/tmp"]);
      expect(volumeMounts.map(({ name }) => name)).toEqual(spec.volumes.map(({ name }) => name));
      expect(Object.keys(resources.requests)).toEqual(["cpu", "memory"]);
      // A throttled event loop loses leases.
      expect(Object.keys(resources.limits)).toEqual(["memory"]);
    },
  );

  test("what processes are told is known to them, and can be used", () => {
    const known = variables.map(({ name }) => name);
    for (const name of Object.keys(config!.data!)) expect(known).toContain(name);
    expect(() => readConfig(config!.data!)).not.toThrow();
    const [secret] = documents(join(home, "secret.example.yaml")) as readonly Manifest[];
    expect(Object.keys(secret!.stringData!)).toEqual(["REDIS_URL"]);
    expect(() => readConfig(secret!.stringData!)).not.toThrow();
    for (const deployment of deployments) {
      expect(containerOf(deployment).envFrom).toEqual([
        { configMapRef: { name: config!.metadata.name } },
        { secretRef: { name: secret!.metadata.name } },
      ]);
    }
  });

  test("a worker is given more time to end than it takes, and a drain or a lull leaves one", () => {
    const worker = deployments.find(({ metadata }) => metadata.name === "reprise-worker")!;
    const { shutdownMs } = readConfig(config!.data!).settings;
    expect(worker.spec.template.spec.terminationGracePeriodSeconds).toBe(130);
    expect(shutdownMs).toBeLessThan(120_000);
    const [budget] = ofKind("PodDisruptionBudget");
    const [scaled] = ofKind("ScaledObject");
    expect(worker.spec.replicas).toBeGreaterThan(budget!.spec.minAvailable);
    expect(scaled!.spec.minReplicaCount).toBeGreaterThan(budget!.spec.minAvailable);
    expect(scaled!.spec.scaleTargetRef.name).toBe(worker.metadata.name);
  });

  test("figures are labelled with the namespace that the processes work in, and workers are scaled by those of it", () => {
    const { namespace } = readConfig(config!.data!);
    const relabelings = ofKind("ServiceMonitor").flatMap(({ spec }) =>
      spec.endpoints.flatMap((each) => each.relabelings),
    );
    expect(relabelings).toEqual([{ targetLabel: "reprise_ns", replacement: namespace }]);
    const [scaled] = ofKind("ScaledObject");
    const queries = scaled!.spec.triggers.map(({ metadata }) => metadata["query"]);
    expect(queries).toEqual([`max(reprise_ticks_due{reprise_ns="${namespace}"})`]);
  });

  test("there is one image, of this version, and the example replaces it", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(new Set(deployments.map((each) => containerOf(each).image))).toEqual(new Set([`reprise:${version}`]));
    expect(kustomization(overlay).images?.map(({ name, newTag }) => [name, newTag])).toEqual([["reprise", version]]);
  });
});

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly environment?: Readonly<Record<string, string>>;
        readonly command?: string[];
        readonly volumes?: string[];
        readonly profiles?: string[];
        readonly ports?: string[];
        readonly stop_grace_period?: string;
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}
const compose = parse(read("docker-compose.yml"), { merge: true }) as Compose;
const watching = Object.entries(compose.services).filter(([, { profiles }]) => profiles?.includes("observability"));

/** The jobs whose absence wakes somebody. */
function jobsOfAlerts(): readonly string[] {
  const exprs = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)).join("\n");
  return [...new Set([...exprs.matchAll(/job="([^"]+)"/g)].map(([, job = ""]) => job))].sort();
}

describe("the profile observability", () => {
  test("is Prometheus, Grafana, a viewer of traces and figures of Redis, on this machine only", () => {
    expect(watching.map(([name]) => name).sort()).toEqual(["grafana", "prometheus", "redis-exporter", "traces"]);
    for (const [, { ports = [] }] of watching) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test("the viewer of traces is where the file says that workers send them", () => {
    const [, host = ""] = /OTEL_EXPORTER_OTLP_ENDPOINT=http:\/\/(\w+):4318/.exec(read("docker-compose.yml")) ?? [];
    expect(watching.map(([name]) => name)).toContain(host);
    expect(compose.services["worker"]?.environment).toHaveProperty("OTEL_EXPORTER_OTLP_ENDPOINT");
  });

  test("no image is `latest`, or without a tag", () => {
    for (const { image } of Object.values(compose.services)) {
      const name = /^\$\{\w+:-(.+)\}$/.exec(image)?.[1] ?? image;
      expect(name).toMatch(/:[\w.-]+$/);
      expect(name).not.toMatch(/:latest$/);
    }
  });

  test("what is mounted is there, and is mounted where it is looked for", () => {
    const mounts = watching.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(":")));
    const files = mounts.filter(([from = ""]) => from.startsWith("./"));
    for (const [from = "", , mode] of files) expect([existsSync(join(root, from)), mode], from).toEqual([true, "ro"]);
    for (const [from = ""] of mounts.filter((each) => !files.includes(each)))
      expect(compose.volumes).toHaveProperty(from);
    const places = files.map(([, to = ""]) => to);
    const prometheus = parse(read("deploy/observability/prometheus.yml")) as { rule_files: string[] };
    for (const file of prometheus.rule_files) expect(places).toContain(file);
    const { providers } = parse(read("deploy/observability/grafana/dashboards.yml")) as {
      providers: { options: { path: string } }[];
    };
    expect(places.some((place) => dirname(place) === providers[0]!.options.path)).toBe(true);
  });

  test("Prometheus finds every replica of the services that there are, under the jobs that alerts name", () => {
    interface Scrape {
      readonly job_name: string;
      readonly dns_sd_configs: readonly { names: string[]; port: number }[];
      readonly relabel_configs?: readonly Relabel[];
    }
    const { scrape_configs } = parse(read("deploy/observability/prometheus.yml")) as { scrape_configs: Scrape[] };
    expect(scrape_configs.map(({ job_name }) => job_name).sort()).toEqual(["redis", ...jobsOfAlerts()]);
    for (const { job_name, dns_sd_configs, relabel_configs } of scrape_configs) {
      const isOurs = job_name.startsWith("reprise-");
      expect(dns_sd_configs.map(({ port }) => port)).toEqual([isOurs ? 9464 : 9121]);
      for (const name of dns_sd_configs.flatMap(({ names }) => names)) {
        expect(compose.services).toHaveProperty(name);
        if (!isOurs) continue;
        const told = readConfig(compose.services[name]?.environment ?? {});
        expect([told.adminPort, told.adminHost]).toEqual([9464, "0.0.0.0"]);
      }
      if (isOurs) expect(relabel_configs).toEqual([labelled(readConfig({}).namespace)]);
    }
  });

  test("the dashboard asks a data source that is provisioned", () => {
    interface Source {
      readonly uid: string;
      readonly url: string;
    }
    const { datasources } = parse(read("deploy/observability/grafana/datasources.yml")) as { datasources: Source[] };
    const asked = new Set(
      [...JSON.stringify(dashboard).matchAll(/"uid":"(prometheus|traces)"/g)].map(([, uid]) => uid),
    );
    expect(asked.size).toBeGreaterThan(0);
    for (const uid of asked) expect(datasources.map((source) => source.uid)).toContain(uid);
    for (const { url } of datasources) expect(compose.services).toHaveProperty(new URL(url).hostname);
  });
});

test("the commands that are run here are commands, or are still promised", () => {
  const lines = [
    ...deployments.map((each) => containerOf(each).args),
    ...Object.values(compose.services).map(({ command = [] }) => command),
  ];
  const asked = lines.flatMap(([program, ...words]) =>
    program === "dist/cli/main.js" ? [["reprise", ...words].join(" ")] : [],
  );
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.filter((line) => problemWith(line) !== null)).toEqual([]);
});

describe("alert rules and dashboard", () => {
  test("the files are what their source makes (npm run deploy:files)", () => {
    for (const [path, content] of Object.entries(files)) expect(read(path), path).toBe(content);
  });

  test("every alert is a section of its page, which links to what it is about", () => {
    const page = read("docs/runbooks/ALERTS.md");
    const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    const alerts = [...groups, ...sloGroups].flatMap(({ rules }) => rules);
    expect(sections).toEqual([...new Set(alerts.map(({ alert }) => alert))]);
    for (const { alert, annotations } of alerts)
      expect(annotations["runbook"]).toBe(
        `${relative(root, join(root, "docs/runbooks/ALERTS.md"))}#${alert.toLowerCase()}`,
      );
  });

  test("they, and what workers are scaled by, look at metrics that there are", () => {
    const scaled = ofKind("ScaledObject").flatMap(({ spec }) => spec.triggers.map(({ metadata }) => metadata["query"]));
    const text = [...Object.values(files), ...scaled].join("\n");
    const asked = new Set(
      [...text.matchAll(/\breprise_(?!ns\b)[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, "")),
    );
    expect(asked.size).toBeGreaterThan(20);
    const known = { ...catalogue, ...adminCatalogue };
    expect([...asked].filter((name) => !Object.hasOwn(known, name))).toEqual([]);
  });

  test("every metric that a page of documentation names is there", () => {
    const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".md"),
    );
    const text = pages.map((path) => read(`docs/${path}`)).join("\n");
    const named = [...new Set([...text.matchAll(/`(reprise_[a-z_]+)(?:\{[^`]*)?`/g)].map(([, name = ""]) => name))];
    const known = { ...catalogue, ...adminCatalogue };
    expect(named.length).toBeGreaterThan(Object.keys(known).length / 2);
    const isKnown = (name: string) =>
      Object.hasOwn(known, name.replace(/_(bucket|sum|count)$/, "")) || name === "reprise_ns";
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });

  test("panels have ids of their own, and none lies over another", () => {
    interface Placed {
      readonly id: number;
      readonly gridPos: { x: number; y: number; w: number; h: number };
    }
    const panels = dashboard.panels as readonly Placed[];
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });
});
