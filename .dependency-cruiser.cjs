/**
 * Who may know whom (ARCHITECTURE.md, "Rooms"). A room is a folder of src; it is entered by its index.ts only.
 * test/unit/dependency-rules.test.ts plants one violation of each rule and sees it caught.
 */

/** What each room may import, beside itself and the leaves src/errors.ts and src/redact.ts. */
const rooms = {
  saga: [],
  core: ["saga"],
  store: ["core", "saga"],
  queue: ["core", "saga"],
  telemetry: ["core", "saga"],
  redis: [],
  artifacts: ["core", "saga"],
  engine: ["core", "saga"],
  client: ["core", "saga"],
  idempotency: ["core", "saga"],
  page: ["client", "core", "saga"],
  admin: ["core"],
  supervisor: ["client", "core", "webhook"],
  webhook: [],
  testing: ["core", "saga", "engine", "client", "store"],
};

/** The faces translate and decide nothing. They reach the inside through the composition root. */
const faces = ["cli", "http", "dashboard", "mcp", "ai"];
const faceRooms = ["client", "core", "saga"];
// The command line brings a world and a Redis for whoever has none.
for (const face of faces) rooms[face] = face === "cli" ? [...faceRooms, "testing", "redis"] : faceRooms;

const leaf = "^src/(errors|redact)\\.ts$";
const door = (room) => `^src/${room}/index\\.ts$`;
const inside = (names) => `^src/(${names.join("|")})/`;
const packageNamed = (name) => `(^|/)node_modules/${name}/`;

const roomRules = Object.entries(rooms).map(([room, allowed]) => ({
  name: `room-${room}`,
  comment: `src/${room} may import ${allowed.length > 0 ? allowed.join(", ") : "no other room"}.`,
  severity: "error",
  from: { path: inside([room]) },
  to: {
    path: "^src/",
    pathNot: [
      inside([room]),
      leaf,
      ...allowed.map(door),
      ...(faces.includes(room) ? ["^src/(config|project)\\.ts$", door("orchestrator")] : []),
    ],
  },
}));

const shape = [
  { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
  {
    name: "rooms-have-one-door",
    comment: "A room is entered by its index.ts.",
    severity: "error",
    from: { path: "^(src|sagas|workers)/([^/]+)" },
    to: { path: "^src/[^/]+/", pathNot: ["^src/[^/]+/index\\.ts$", "^src/$2/"] },
  },
  {
    name: "leaves-know-nothing",
    severity: "error",
    from: { path: leaf },
    to: { path: "^src/" },
  },
  {
    name: "config-knows-leaves-only",
    severity: "error",
    from: { path: "^src/config\\.ts$" },
    to: { path: "^src/", pathNot: leaf },
  },
  {
    name: "project-knows-sagas",
    comment: "src/project.ts says what a project's configuration file holds; it composes nothing.",
    severity: "error",
    from: { path: "^src/project\\.ts$" },
    to: { path: "^src/", pathNot: [leaf, "^src/config\\.ts$", door("saga")] },
  },
  {
    name: "composition-root",
    comment: "orchestrator introduces the rooms to each other; it knows neither testing nor a face.",
    severity: "error",
    from: { path: inside(["orchestrator"]) },
    to: { path: inside(["testing", ...faces]) },
  },
  {
    name: "public-door",
    comment: "index.ts re-exports; testing has a door of its own, and a face is no library.",
    severity: "error",
    from: { path: "^src/index\\.ts$" },
    to: { path: inside(["testing", ...faces]) },
  },
  {
    name: "examples-use-the-public-door",
    comment: "sagas and workers import `reprise` and `reprise/testing` by name, like a user.",
    severity: "error",
    from: { path: "^(sagas|workers)/" },
    to: { path: "^(src|test|bench|scripts)/", pathNot: "^src/(testing/)?index\\.ts$" },
  },
  {
    name: "src-stands-alone",
    severity: "error",
    from: { path: "^src/" },
    to: { path: "^(sagas|workers|test|bench|scripts)/" },
  },
];

const libraries = [
  {
    name: "pure-rooms",
    comment: "core and saga have no clock, no randomness, no I/O.",
    severity: "error",
    from: { path: inside(["core", "saga"]) },
    to: { dependencyTypes: ["core"], pathNot: "^(node:)?(crypto|vm)$" },
  },
  {
    name: "vm-in-migrations",
    comment: "Only it can stop synchronous code that does not come to an end.",
    severity: "error",
    from: { path: inside(["core", "saga"]), pathNot: "^src/saga/migrations\\.ts$" },
    to: { path: "^(node:)?vm$" },
  },
  {
    name: "crypto-in-digest",
    severity: "error",
    from: { path: inside(["core", "saga"]), pathNot: "^src/core/digest\\.ts$" },
    to: { path: "^(node:)?crypto$" },
  },
  {
    name: "canonicalize-in-digest",
    severity: "error",
    from: { path: "^(src|sagas|workers)/", pathNot: "^src/core/digest\\.ts$" },
    to: { path: packageNamed("canonicalize") },
  },
  {
    name: "ioredis-in-store-and-redis",
    severity: "error",
    from: { path: "^(src|sagas|workers)/", pathNot: inside(["store", "redis"]) },
    to: { path: packageNamed("ioredis") },
  },
  {
    name: "bullmq-in-queue",
    severity: "error",
    from: { path: "^(src|sagas|workers)/", pathNot: inside(["queue"]) },
    to: { path: packageNamed("bullmq") },
  },
  {
    name: "pino-and-prom-client-in-telemetry",
    severity: "error",
    // An SDK of OpenTelemetry is its process's own.
    from: { path: "^(src|sagas|workers)/", pathNot: [inside(["telemetry"]), "^workers/traces\\.ts$"] },
    to: { path: `(${packageNamed("pino")}|${packageNamed("prom-client")}|${packageNamed("@opentelemetry/[^/]+")})` },
  },
  {
    name: "aws4fetch-in-artifacts",
    severity: "error",
    from: { path: "^(src|sagas|workers)/", pathNot: inside(["artifacts"]) },
    to: { path: packageNamed("aws4fetch") },
  },
  {
    name: "xstate-in-saga-and-core",
    comment: "Its types anywhere in these two rooms, elsewhere in src not even those.",
    severity: "error",
    from: { path: "^src/", pathNot: inside(["saga", "core"]) },
    to: { path: packageNamed("xstate") },
  },
  {
    name: "xstate-values",
    comment: "Values of XState only where logic and builder are made and in the machine port: XState 6 is coming.",
    severity: "error",
    from: { path: inside(["saga", "core"]), pathNot: "^src/(saga/(logic|builder)|core/machine/machine)\\.ts$" },
    to: { path: packageNamed("xstate"), dependencyTypesNot: ["type-only"] },
  },
  {
    name: "shipped-code-uses-dependencies",
    severity: "error",
    from: { path: "^src/" },
    to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"] },
  },
  { name: "resolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
];

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [...shape, ...roomRules, ...libraries],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default", "types"],
      extensions: [".ts", ".mjs", ".js", ".d.ts", ".d.mts", ".json"],
    },
  },
};
