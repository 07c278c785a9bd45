/** What `reprise` knows of this repository: its example sagas. Redis is named by --redis or REDIS_URL. */
import { defineConfig } from "reprise";

export default defineConfig({ sagas: "./sagas/index.ts" });
