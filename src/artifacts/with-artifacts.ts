/**
 * A store whose large values lie elsewhere. Owns which of the store's words carry values of a run; everything else goes
 * through as it is, the log and the inbox among it. Invariants: W1 nothing is written before what it refers to is kept.
 * W2 whoever reads sees whole values, or a `MissingArtifact` where one cannot be had.
 */
import {
  type AcquireCommand,
  type CommitCommand,
  type CreateCommand,
  promised,
  type Row,
  type RunRecord,
  type Store,
} from "../core/index.ts";
import { Keeper, type KeeperOptions, type Values } from "./keeper.ts";
import { someAtOnce } from "./some-at-once.ts";

/** Runs of which values are put at once, when many are started. */
const createdAtOnce = 8;

/** The same store, with values above the threshold kept as artifacts. */
export function withArtifacts(store: Store, options: KeeperOptions): Store {
  const keeper = new Keeper(options);

  async function takeOutOfCreate(command: CreateCommand): Promise<CreateCommand> {
    const { record } = await keeper.takeOutNew(command.record, command.record);
    return { ...command, record };
  }

  function commit(command: CommitCommand): ReturnType<Store["commit"]> {
    const { commit: whole } = command;
    const written = (values: Values<RunRecord>) => store.commit({ ...command, commit: { ...whole, ...values } });
    const stored = keeper.takeOut(whole.run, whole);
    return stored instanceof Promise ? stored.then(written) : written(stored);
  }

  function acquire(command: AcquireCommand): ReturnType<Store["acquire"]> {
    return store.acquire(command).then((answer) => {
      if (answer.answer !== "OK") return answer;
      const whole = (values: Values<RunRecord>) => ({ ...answer, ...values });
      const values = keeper.putBackHeld(command.run, answer);
      return values instanceof Promise ? values.then(whole) : whole(values);
    });
  }

  return {
    create: async (command) => await store.create(await takeOutOfCreate(command)),
    createMany: async (commands) => await store.createMany(await someAtOnce(commands, createdAtOnce, takeOutOfCreate)),
    commit: (command) => promised(() => commit(command)),
    acquire: (command) => promised(() => acquire(command)),
    permit: async (command) => {
      const answer = await store.permit(command);
      if (answer.answer !== "OK") return answer;
      const { record, rows } = await keeper.putBack(command.run, { record: answer.record, rows: [answer.row] });
      // A row for a row.
      return { ...answer, record, row: rows[0] as Row };
    },
    read: async (run) => {
      const record = await store.read(run);
      return record === null ? null : (await keeper.putBack(run, { record, rows: [] })).record;
    },
    ledger: async (run) => (await keeper.putBack(run, { record: null, rows: await store.ledger(run) })).rows,
    ...unchanged(store),
  };
}

/** What carries no value of a run, or one that stays in the store. */
function unchanged(store: Store) {
  return {
    shards: store.shards,
    shardOf: (run) => store.shardOf(run),
    open: () => store.open(),
    close: () => store.close(),
    now: () => store.now(),
    renew: (...given) => store.renew(...given),
    release: (...given) => store.release(...given),
    setAside: (...given) => store.setAside(...given),
    shelve: (...given) => store.shelve(...given),
    unshelve: (...given) => store.unshelve(...given),
    pauseSaga: (paused) => store.pauseSaga(paused),
    resumeSaga: (saga) => store.resumeSaga(saga),
    pausedSagas: () => store.pausedSagas(),
    count: (...given) => store.count(...given),
    takeNotices: (command) => store.takeNotices(command),
    strikeNotice: (...given) => store.strikeNotice(...given),
    putOffNotice: (command) => store.putOffNotice(command),
    owedRuns: (...given) => store.owedRuns(...given),
    noticesOwed: () => store.noticesOwed(),
    purge: (...given) => store.purge(...given),
    expiring: () => store.expiring(),
    send: (command) => store.send(command),
    due: (...given) => store.due(...given),
    renewPermit: (command) => store.renewPermit(command),
    hello: (...given) => store.hello(...given),
    owners: () => store.owners(),
    world: () => store.world(),
    suspect: (...given) => store.suspect(...given),
    goodbye: (owner) => store.goodbye(owner),
    lostOwners: () => store.lostOwners(),
    living: (owners) => store.living(owners),
    expire: (owner) => store.expire(owner),
    barrier: (timeoutMs) => store.barrier(timeoutMs),
    durability: () => store.durability(),
    log: (...given) => store.log(...given),
    inbox: (run) => store.inbox(run),
    list: (query) => store.list(query),
    listShared: (query) => store.listShared(query),
    serving: () => store.serving(),
    load: () => store.load(),
    beat: (heartbeat) => store.beat(heartbeat),
    heartbeats: () => store.heartbeats(),
    askToDrain: (command) => store.askToDrain(command),
    askTurn: (command) => store.askTurn(command),
    giveTurn: (command) => store.giveTurn(command),
    putSchedule: (command) => store.putSchedule(command),
    getSchedule: (id) => store.getSchedule(id),
    listSchedules: () => store.listSchedules(),
    putPlan: (command) => store.putPlan(command),
    note: (act) => store.note(act),
    acts: (query) => store.acts(query),
    listBatches: (limit) => store.listBatches(limit),
    getPlan: (id) => store.getPlan(id),
    takePlan: (command) => store.takePlan(command),
    noteResult: (...given) => store.noteResult(...given),
    setSuspension: (command) => store.setSuspension(command),
    getSuspension: (id) => store.getSuspension(id),
    registered: (...given) => store.registered(...given),
    register: (saga) => store.register(saga),
    watch: (listener) => store.watch(listener),
    onReconnect: (listener) => store.onReconnect(listener),
    claimIntent: (command) => store.claimIntent(command),
    publishIntent: (command) => store.publishIntent(command),
  } satisfies Partial<Store>;
}
