/** Composes a supervisor. */
import { supervisorAnswers } from "../admin/index.ts";
import { connectedClient } from "../client/index.ts";
import { isHookUrl } from "../config.ts";
import { type Alert, defaultThresholds, type Thresholds } from "../core/index.ts";
import { systemClock, systemIds, systemVitals } from "../engine/index.ts";
import { RepriseError } from "../errors.ts";
import { redactValue } from "../redact.ts";
import { examineServers } from "../redis/index.ts";
import { lookAt, type SupervisorHealth, Watchman, type Webhook, webhook } from "../supervisor/index.ts";
import { type AdminOptions, groundOf } from "./ground.ts";
import { type Base, baseOf, clientOptionsOf, type PlaceOptions, portsOf } from "./place.ts";

/** Where a supervisor looks, and whom it tells. */
export interface CreateSupervisorOptions extends PlaceOptions {
  /** What it is called; REPRISE_WORKER_NAME, or `<host>-<pid>`. */
  readonly name?: string | undefined;
  /** From when on something is told. */
  readonly thresholds?: Partial<Thresholds> | undefined;
  /** Told alerts, signed with `secret`; REPRISE_ALERT_WEBHOOK and REPRISE_ALERT_SECRET, or nobody. */
  readonly webhook?: { readonly url: string; readonly secret?: string | undefined } | undefined;
  /** Told each alert once; a JSON line on stderr unless given. Must not throw or wait. */
  readonly onAlert?: ((alert: Alert) => void) | undefined;
  /** How often it looks; 5,000 unless given, and at most. */
  readonly everyMs?: number | undefined;
  readonly admin?: AdminOptions | undefined;
}

/** Watches over a namespace from outside of its workers. */
export interface Supervisor {
  readonly id: string;
  /** Looks, and goes on looking. Throws CONFIG_INVALID (the admin port), STORE_UNAVAILABLE, SHARDS_MISMATCH, STORE_EVICTS. */
  start(): Promise<void>;
  stop(): Promise<void>;
  health(): SupervisorHealth;
}

/**
 * A supervisor: tells when workers are gone or take nothing, when runs cannot advance, when outcomes, questions and parked runs pile
 * up, and when Redis is not as it was. It changes nothing but its own heartbeat.
 *
 * @throws RepriseError CONFIG_INVALID.
 */
export function createSupervisor(options: CreateSupervisorOptions): Supervisor {
  const base = baseOf(options);
  const { config, store, namespace, onTrouble } = base;
  const client = connectedClient(portsOf(base), clientOptionsOf(base));
  const { name, host, pid, version } = systemVitals({
    name: options.name ?? config.workerName,
    version: config.version,
  });
  const id = systemIds().next();
  const hook = webhookOf(options, base);
  const onAlert = options.onAlert ?? alertToStderr;
  const watchman = new Watchman(
    {
      clock: systemClock,
      look: () => lookAt(client, () => examineServers(base.queueConnection())),
      beat: (heartbeat) => store.beat(heartbeat),
      tell: (alert) => {
        // A supervisor that was started anew counts from its own beginning.
        hook?.send(`${id}:${alert.id}`, { namespace, ...alert, id: `${id}:${alert.id}` });
        onAlert(alert);
      },
      trouble: onTrouble,
    },
    {
      ...{ id, name, host, pid, version },
      everyMs: options.everyMs ?? 5_000,
      thresholds: checkedThresholds(options.thresholds ?? {}),
    },
  );
  const ground = groundOf(
    base,
    options.admin ?? {},
    supervisorAnswers(namespace, () => watchman.health()),
  );
  let stopping: Promise<void> | null = null;
  let isOpen = false;
  const stop = async (): Promise<void> => {
    await watchman.stop();
    await hook?.stop(2_000);
    if (isOpen) await store.goodbye(id).catch((error: unknown) => onTrouble("goodbye", error));
    await client.close();
    await base.close();
    await ground?.close();
  };
  return {
    id,
    health: () => watchman.health(),
    start: async () => {
      await ground?.open();
      await store.open();
      isOpen = true;
      await base.connections.ready(base.queueConnection());
      watchman.start();
    },
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function checkedThresholds(given: Partial<Thresholds>): Thresholds {
  const problems = Object.entries(given).flatMap(([name, value]) => {
    if (!(name in defaultThresholds))
      return [`alerts.${name} is not one of ${Object.keys(defaultThresholds).join(", ")}`];
    return Number.isFinite(value) && value >= 0 ? [] : [`alerts.${name} is not a number from 0: ${String(value)}`];
  });
  if (problems.length === 0) return { ...defaultThresholds, ...given };
  throw new RepriseError("CONFIG_INVALID", problems.join("; "), { details: { problems } });
}

function webhookOf({ webhook: given }: CreateSupervisorOptions, { config, onTrouble }: Base): Webhook | null {
  const url = given?.url ?? config.alertWebhook;
  if (url === null) return null;
  if (!isHookUrl(url))
    throw new RepriseError("CONFIG_INVALID", "webhook.url is no http(s) URL without a password in it");
  const secret = given === undefined ? config.alertSecret : (given.secret ?? null);
  return webhook({ url, secret, clock: systemClock, onTrouble: (error) => onTrouble("webhook", error) });
}

function alertToStderr(alert: Alert): void {
  const level = alert.state === "firing" ? "error" : "info";
  console.error(JSON.stringify({ level, alert: alert.state, ...alert }, redactValue));
}
