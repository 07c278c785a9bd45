import { expect, test } from "vitest";
import { notApplied, ok, Play, retry, timedOut } from "../support/play.ts";
import { call, line } from "../support/play-sagas.ts";

const at = (send: number, cursor: number) => ({ type: "progress", seq: 1, send, cursor }) as const;

test("a cursor is kept with the row while its call is out, and through a takeover", () => {
  const play = new Play(line([call("a")]));
  play.step(at(1, 3));
  expect(play.row("a")).toMatchObject({ progress: 3, call: { state: "sent" } });
  expect(play.taken()).toContainEqual({ what: "progress", seq: 1 });
  play.takeOver();
  expect(play.row("a")).toMatchObject({ progress: 3, call: { state: "sent", send: 2 } });
});

test("of an older send, of a call that is over, and of no row at all, none is kept", () => {
  const play = new Play(line([call("a")]));
  play.takeOver();
  play.step(at(1, 3));
  expect(play.row("a").progress).toBeNull();
  play.answer("a", timedOut());
  const { revision } = play.run.record;
  play.step(at(2, 3));
  play.step({ ...at(2, 3), seq: 9 });
  expect(play.row("a").progress).toBeNull();
  expect(play.run.record.revision).toBe(revision);
  play.advance(1_000);
  play.answer("a", ok());
  play.step(at(3, 3));
  expect(play.row("a").progress).toBeNull();
});

test("goes with the input it was said of: a retry with another one begins at the beginning", () => {
  const exhausted = (): Play => {
    const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
    play.step(at(1, 3));
    play.answer("a", notApplied());
    return play;
  };
  const same = exhausted();
  same.verb(retry());
  expect(same.row("a").progress).toBe(3);
  const other = exhausted();
  other.verb(retry({ orders: [] }));
  expect(other.row("a")).toMatchObject({ input: { orders: [] }, progress: null });
});
