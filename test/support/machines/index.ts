/**
 * Machines of every shape that a saga may have. They are run through the machine port and by XState itself, and must not
 * be told apart.
 */
import { actionShapes } from "./actions.ts";
import { flowShapes } from "./flow.ts";
import { parallelShapes } from "./parallel.ts";
import type { Shape } from "./shape.ts";

export { randomDraft, shapeOf } from "./random.ts";
export type { Op, Shape } from "./shape.ts";

/** All shapes by name. */
export const shapes: Readonly<Record<string, Shape>> = { ...flowShapes, ...parallelShapes, ...actionShapes };
