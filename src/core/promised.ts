/**
 * What the work answers, and what it throws as a rejection, as of an async function; but without a promise of its own. Where
 * something follows the promises of a process (AsyncLocalStorage on Node 20, under traces) each is dear, and a commit went
 * through twenty.
 */
export function promised<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}
