/**
 * A support agent at work on one ticket: it reads the ticket, gathers context, has a model write a recommendation, notes it in
 * the CRM, and queues a message to the customer. What it reads and writes with the model changes nothing outside and may be
 * done again; the note and the message are effects, and each says what a repeat would mean.
 */
import { saga } from "reprise";
import { z } from "zod";
import { known, refusalsAreFinal, type Services, step } from "./services.ts";

export const Ticket = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  question: z.string().min(1),
  email: z.email(),
});

/** How the help desk's services call what they did. */
const Reference = z.object({ ref: z.string() });

/**
 * Reading, looking up, asking a model: nothing changes outside. The answer is kept in the ledger and not asked for again.
 * (The fake world only counts that it was asked; what it would say is made up here.)
 */
const reading = { effect: "none" } as const;
/** The CRM takes no key: writing the note again would be a second note. But it can be asked whether one is there. */
const crm = (services: Services) => services.op("crm", { effect: "once", query: true });
/** The outbox knows a message by our operation id. */
const outbox = (services: Services, direction: "do" | "undo" = "do") =>
  services.op("outbox", { effect: "keyed", query: true, direction });

export const readTicket = step("readTicket", {
  input: z.object({ ticketId: z.string(), question: z.string() }),
  output: z.object({ question: z.string() }),
  effect: "none",
  action: async ({ input, services, ...call }) => {
    await services.op("tickets", reading).call("read", input, call);
    return { question: input.question.trim() };
  },
  timeout: "5s",
});

export const fetchContext = step("fetchContext", {
  input: z.object({ question: z.string() }),
  output: z.object({ articles: z.array(z.string()) }),
  effect: "none",
  action: async ({ input, services, ...call }) => {
    await services.op("knowledge", reading).call("search", input, call);
    return { articles: ["Where parcels are", "When to refund"] };
  },
  timeout: "5s",
});

export const writeRecommendation = step("writeRecommendation", {
  input: z.object({ question: z.string(), articles: z.array(z.string()) }),
  output: z.object({ text: z.string() }),
  effect: "none",
  action: async ({ input, services, ...call }) => {
    await services.op("model", reading).call("write", input, call);
    return { text: `To "${input.question}", see ${input.articles.join(" and ")}.` };
  },
  timeout: "30s",
});

/** `once`, with a probe: after a time-out nobody writes again before the CRM was asked. */
export const updateCrm = step("updateCrm", {
  input: z.object({ ticketId: z.string(), note: z.string() }),
  output: Reference,
  effect: "once",
  action: ({ input, services, ...call }) =>
    crm(services).call("note", input, call).then(Reference.parse).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => {
    const found = await crm(services).find("note", operationId, call);
    return known(found === undefined ? undefined : Reference.parse(found));
  },
  noCompensation: "a note stays in the customer's history; a wrong one is corrected by another",
  timeout: "1s",
});

/** `keyed`: queued again under the same operation id it is one message; until it is sent it can be taken back. */
export const queueMessage = step("queueMessage", {
  input: z.object({ ticketId: z.string(), to: z.email(), text: z.string() }),
  output: Reference,
  effect: "keyed",
  action: ({ input, services, ...call }) =>
    outbox(services).call("queue", input, call).then(Reference.parse).catch(refusalsAreFinal),
  compensate: async ({ output, services, ...call }) => {
    await outbox(services, "undo").call("withdraw", output, call);
  },
  timeout: "10s",
});

export const support = saga("support", { version: 1, input: Ticket })
  .step(readTicket, ({ input }) => ({ ticketId: input.id, question: input.question }))
  .step(fetchContext, ({ results }) => ({ question: results.readTicket.question }))
  .step(writeRecommendation, ({ results }) => ({ ...results.readTicket, ...results.fetchContext }))
  .step(updateCrm, ({ input, results }) => ({ ticketId: input.id, note: results.writeRecommendation.text }))
  .step(queueMessage, ({ input, results }) => ({
    ticketId: input.id,
    to: input.email,
    text: results.writeRecommendation.text,
  }))
  .build({ output: ({ results }) => ({ note: results.updateCrm.ref, message: results.queueMessage.ref }) });
