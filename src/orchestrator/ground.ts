/** What is there before a process serves, and until it has stopped: its admin port. */
import {
  type Admin,
  type AdminAddress,
  type AdminAnswers,
  type AdminPlace,
  adminServer,
  type MetricsPage,
} from "../admin/index.ts";
import type { Base } from "./place.ts";

export interface AdminOptions extends Partial<AdminPlace> {
  /** What `/metrics` shows beside the worker's own: a registry's page. */
  readonly metrics?: (() => Promise<MetricsPage>) | undefined;
  /** Told where it listens. */
  readonly onOpen?: ((address: AdminAddress) => void) | undefined;
}

/** What is there before a worker starts, and until it has stopped. */
export interface Ground {
  open(): Promise<void>;
  close(): Promise<void>;
}

export function groundOf({ config }: Base, options: AdminOptions, answers: AdminAnswers): Ground | null {
  const port = options.port ?? config.adminPort;
  if (port === null) return null;
  const { host = config.adminHost, onOpen } = options;
  const admin: Admin = adminServer({ port, host }, answers);
  const open = async (): Promise<void> => {
    const address = await admin.open();
    onOpen?.(address);
  };
  return { open, close: () => admin.close() };
}
