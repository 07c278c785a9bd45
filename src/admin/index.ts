/** The door of the admin port: what probes and scrapers ask of a process. */
export {
  type Admin,
  type AdminAddress,
  type AdminAnswers,
  type AdminPlace,
  adminServer,
  type MetricsPage,
} from "./admin.ts";
export { type AdminMetricName, adminTable } from "./catalogue.ts";
export { supervisorAnswers } from "./supervisor-answers.ts";
export { workerAnswers } from "./worker-answers.ts";
