/**
 * A process for the tools' own tests: says that it is ready, gives every message back with its pid, and charges a card
 * in the fake world at the address it is told.
 */
import process from "node:process";
import { worldClient } from "reprise/testing";

process.on("message", (message) => {
  if (typeof message === "string" && message.startsWith("http:")) {
    void worldClient(message).payments.charge({ orderId: "o-1", cents: 4200 }, { operationId: "o-1/charge/1" });
  }
  process.send?.({ echo: message, pid: process.pid });
});
process.send?.({ ready: true });
console.log(`args ${process.argv.slice(2).join(" ")} variable ${process.env["TOOLS_VARIABLE"] ?? ""}`);
if (process.argv.includes("--fail")) throw new Error("as told");
