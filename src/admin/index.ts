/** The door of the admin port: what probes and scrapers ask of a process. */
export { type Admin, type AdminAddress, type AdminPlace, adminServer, type MetricsPage } from "./admin.ts";
export { type Gauge, withGauges } from "./gauges.ts";
export { workerAnswers } from "./worker-answers.ts";
