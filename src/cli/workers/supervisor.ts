/** `reprise supervisor`: a process that watches over the workers of a namespace, outside of them. */
import { command } from "../base/command.ts";
import { wholeOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";
import { usualAdminPort } from "./worker.ts";

interface Flags {
  readonly name?: string;
  readonly adminPort?: string;
}

export const supervisorCommand = command<[], Flags>({
  name: "supervisor",
  summary: "Watch over the workers, and tell when somebody should know",
  details: `It tells when workers are gone, silent or take nothing, when runs cannot advance, when an outcome is unknown or a question waits for
too long, when parked runs grow, and when Redis is away, short of memory or not set as it was: on stderr, to the webhook
(REPRISE_ALERT_WEBHOOK, signed with REPRISE_ALERT_SECRET), and on /metrics. From when on: alerts in reprise.config.`,
  options: [
    ["--name <name>", "what it is called in lists (REPRISE_WORKER_NAME, or host and process)"],
    ["--admin-port <port>", `where probes ask (REPRISE_ADMIN_PORT, or ${usualAdminPort})`],
  ],
  examples: [
    "reprise supervisor",
    "REPRISE_ALERT_WEBHOOK=https://ops.example.com/hook reprise supervisor",
    "reprise supervisor --admin-port 0 --name watch-1",
  ],
  kinds: ["SupervisorReady", "Alert"],
  changes: { noDryRun: "it serves until it is ended", noReason: "it serves until it is ended" },
  run: async (cli, { name, adminPort }) => {
    const { createSupervisor } = await import("../../orchestrator/index.ts");
    const { tenant: _tenant, file: _file, services: _services, alerts, ...place } = await cli.place();
    const usual = cli.io.env["REPRISE_ADMIN_PORT"] ? {} : { port: usualAdminPort };
    const supervisor = createSupervisor({
      ...place,
      name,
      thresholds: alerts,
      admin: adminPort === undefined ? usual : { port: wholeOf(adminPort, "--admin-port", 0, 65_535) },
      onAlert: (alert) => {
        const word = alert.state === "firing" ? "ALERT" : "ended";
        cli.out.document("Alert", alert, { id: alert.id, lines: () => [`${word} ${alert.key}: ${alert.message}`] });
      },
    });
    const stopped = new Promise<void>((resolve) => {
      if (cli.signal.aborted) resolve();
      cli.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      await supervisor.start();
      const data = { id: supervisor.id, pid: process.pid };
      cli.out.document("SupervisorReady", data, { id: data.id, lines: () => [`Supervisor ${data.id} is watching.`] });
      await stopped;
    } finally {
      await supervisor.stop();
    }
    return exitCodes.ok;
  },
});
