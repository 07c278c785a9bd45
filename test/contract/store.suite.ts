/**
 * The port `Store` as a list of promises, kept by every adapter. Time is the test's: it stands still at `epochMs` until a
 * test moves it, in Redis too.
 */
import { afterEach, beforeEach, describe } from "vitest";
import type { Store } from "../../src/core/ports.ts";
import { actContract } from "./suite/acts.ts";
import { commitContract } from "./suite/commit.ts";
import { createContract } from "./suite/create.ts";
import { dueContract } from "./suite/due.ts";
import type { Bench, Current, OpenBench } from "./suite/harness.ts";
import { heartbeatContract } from "./suite/heartbeats.ts";
import { inboxContract } from "./suite/inbox.ts";
import { intentContract } from "./suite/intents.ts";
import { leaseContract } from "./suite/lease.ts";
import { listingContract } from "./suite/listings.ts";
import { loadContract } from "./suite/load.ts";
import { noticeContract } from "./suite/notices.ts";
import { ownerContract } from "./suite/owners.ts";
import { permitContract } from "./suite/permits.ts";
import { planContract } from "./suite/plans.ts";
import { retentionContract } from "./suite/retention.ts";
import { scheduleContract } from "./suite/schedules.ts";
import { sharedContract } from "./suite/shared.ts";
import { shelfContract } from "./suite/shelf.ts";
import { turnContract } from "./suite/turns.ts";

const parts = {
  create: createContract,
  leases: leaseContract,
  commit: commitContract,
  send: inboxContract,
  due: dueContract,
  permits: permitContract,
  owners: ownerContract,
  intents: intentContract,
  plans: planContract,
  turns: turnContract,
  schedules: scheduleContract,
  heartbeats: heartbeatContract,
  notices: noticeContract,
  shelves: shelfContract,
  acts: actContract,
  retention: retentionContract,
  listings: listingContract,
  "shared listings": sharedContract,
  load: loadContract,
} as const;

export function storeContract(adapter: string, open: OpenBench): void {
  for (const shards of [1, 4]) {
    describe(`${adapter}, ${shards} ${shards === 1 ? "shard" : "shards"}`, () => {
      let bench: Bench | null = null;
      const current: Current = {
        get bench(): Bench {
          if (bench === null) throw new Error("no test is running");
          return bench;
        },
        get store(): Store {
          return this.bench.store;
        },
      };
      beforeEach(async () => {
        bench = await open({ shards, lanes: 2 });
      });
      afterEach(async () => {
        await bench?.close();
        bench = null;
      });
      for (const [name, contract] of Object.entries(parts)) describe(name, () => contract(current));
    });
  }
}
