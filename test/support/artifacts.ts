/** Artifacts in this process's memory, for tests: what is kept can be looked at, lost and damaged. */
import type { ArtifactKey, Artifacts } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";

export class MemoryArtifacts implements Artifacts {
  /** Content by `<namespace>/<tenant>/<hash>`. */
  readonly kept = new Map<string, Uint8Array>();
  /** Keys in the order in which they were put and asked for. */
  readonly puts: string[] = [];
  readonly gets: string[] = [];
  isAway = false;

  async put(key: ArtifactKey, content: Uint8Array): Promise<void> {
    this.#refuseWhenAway();
    this.puts.push(nameOf(key));
    this.kept.set(nameOf(key), content);
  }

  async get(key: ArtifactKey): Promise<Uint8Array | null> {
    this.#refuseWhenAway();
    this.gets.push(nameOf(key));
    return this.kept.get(nameOf(key)) ?? null;
  }

  /** Loses what it keeps of one hash, or all; answers how to bring it back. */
  lose(hash?: string): () => void {
    const lost = [...this.kept].filter(([name]) => hash === undefined || name.endsWith(hash));
    for (const [name] of lost) this.kept.delete(name);
    return () => {
      for (const [name, content] of lost) this.kept.set(name, content);
    };
  }

  #refuseWhenAway(): void {
    if (this.isAway) throw new RepriseError("ARTIFACTS_UNAVAILABLE", "the artifacts are away");
  }
}

function nameOf({ namespace, tenant, hash }: ArtifactKey): string {
  return `${namespace}/${tenant}/${hash}`;
}
