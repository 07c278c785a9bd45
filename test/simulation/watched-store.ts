/** A store whose every acknowledged write the model hears of, in the order in which it counts. */
import type { CommitCommand, CreateCommand, SendCommand, Store } from "../../src/core/index.ts";
import type { WorldEntry } from "../../src/testing/index.ts";
import type { Model } from "./model.ts";

/** `sawNow`: what the world has seen since it was last asked. */
export function watchedStore(store: Store, model: Model, sawNow: () => readonly WorldEntry[]): Store {
  const catchUp = () => {
    for (const entry of sawNow()) model.saw(entry);
  };
  const watched: Pick<Store, "create" | "commit" | "send"> = {
    create: async (command: CreateCommand) => {
      const answer = await store.create(command);
      if (answer.answer === "OK") model.created(command);
      return answer;
    },
    commit: async (command: CommitCommand) => {
      catchUp();
      const answer = await store.commit(command);
      if (answer.answer === "OK") model.committed(command.commit, command.lease);
      return answer;
    },
    send: async (command: SendCommand) => {
      const answer = await store.send(command);
      if (answer.answer === "OK") model.sent(command, answer.position);
      return answer;
    },
  };
  return new Proxy(store, {
    get: (target, name) => {
      if (name in watched) return watched[name as keyof typeof watched];
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
