# One image for every process: `node` is the entry, the command names the program.
#   docker build -t reprise .
#   docker run --init -e REDIS_URL=redis://... reprise build/workers/worker.js
#   docker run --init -e REDIS_URL=redis://... reprise dist/cli/main.js doctor
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
# Optional packages, with which a worker sends traces (OTEL_EXPORTER_OTLP_ENDPOINT); they need no others.
COPY --from=build /app/node_modules/@opentelemetry node_modules/@opentelemetry
COPY --from=build /app/dist dist
COPY --from=build /app/build build
COPY package.json LICENSE ./
# Error messages name a page of these.
COPY docs/runbooks docs/runbooks
# Nothing below /app is written to: the file system may be read-only.
USER node
# npm would swallow SIGTERM, and with it the graceful shutdown; node gets it from the init process.
ENTRYPOINT ["node"]
CMD ["build/workers/worker.js"]
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["node", "dist/cli/main.js", "health"]
