/** Leaving a recorded request with a run, and what its answers mean for the caller. */
import { actOf, type InboxBody, type RunRef, type RunStatus, type SendAnswer, type Timed } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Connection } from "./connection.ts";

export interface Request {
  readonly run: RunRef;
  readonly slot: string;
  readonly commandId: string;
  readonly by: string;
  readonly body: InboxBody;
}

export type Accepted = Extract<SendAnswer, { answer: "OK" | "DUP" | "TAKEN" }> | { readonly answer: "GONE" };

/** Sends it and wakes the run. Throws RUN_NOT_FOUND, RUN_ENDED; a slot that is taken or gone is the caller's to judge. */
export async function sendRequest(connection: Connection, request: Request): Promise<Accepted> {
  const store = await connection.store();
  const answer: Timed<SendAnswer> = await store.send({
    ...request,
    act: actOf(request.run, request.by, request.body),
  });
  connection.heard(answer.now);
  switch (answer.answer) {
    case "OK":
      await connection.wake([answer.wake]);
      return answer;
    case "DUP":
    case "TAKEN":
      return answer;
    case "GONE":
      if (/^(?:review|approval):/.test(request.slot)) return { answer: "GONE" };
      throw notFound(request.run);
    case "ABSENT":
      throw notFound(request.run);
    case "ENDED":
      throw ended(request.run, answer.status);
  }
}

/** What asking something of a run that has ended is refused with. */
export function ended({ tenant, id }: RunRef, status: RunStatus): RepriseError {
  return new RepriseError("RUN_ENDED", `run ${id} has ended: it is ${status}`, { details: { tenant, id, status } });
}

export function notFound(run: RunRef): RepriseError {
  return new RepriseError("RUN_NOT_FOUND", `there is no run ${run.id} of tenant ${run.tenant}`, {
    details: { ...run },
  });
}
