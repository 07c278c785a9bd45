/** Every command that has the shape of `base/command.ts`, in the order of the help, and what their groups are. */
import type { AnyCommand } from "./base/command.ts";
import { runsList } from "./runs/list.ts";
import { versionCommand } from "./version.ts";

export const groups: ReadonlyMap<string, string> = new Map([["runs", "Start runs, look at them, ask things of them"]]);

export const commands: readonly AnyCommand[] = [runsList, versionCommand];
