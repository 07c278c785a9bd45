/** The stored forms of everything the store keeps of a run. One folder, so that what lies in Redis is decided in one place. */
export { decodeEntry, decodeWinner, encodeEntry } from "./codec/entry.ts";
export { decodeLog, encodeLogEntry } from "./codec/log.ts";
export { decodePermit } from "./codec/permit.ts";
export {
  decodeRecord,
  encodeCommitted,
  encodeRecord,
  refersToLedger,
  type StoredRecord,
} from "./codec/record.ts";
export { decodeRow, encodeRow } from "./codec/row.ts";
export { statusLetters } from "./codec/words.ts";
