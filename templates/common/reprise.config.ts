/** What the command `reprise` knows of this project. Redis is named by --redis or REDIS_URL. */
import { defineConfig } from "reprise";

export default defineConfig({ sagas: "./sagas/index.ts" });
