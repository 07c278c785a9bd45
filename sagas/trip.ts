/**
 * A trip: flight and hotel are booked side by side, then the itinerary is sent. If one of the two fails, the other is
 * cancelled: a traveller with a flight and no bed is worse off than one with neither.
 */
import { saga } from "reprise";
import { z } from "zod";
import { known, refusalsAreFinal, step } from "./services.ts";

export const Trip = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  flight: z.string().min(1),
  hotel: z.string().min(1),
  email: z.email(),
});

const Booking = z.object({ bookingId: z.string() });

export const bookFlight = step("bookFlight", {
  input: z.object({ tripId: z.string(), flight: z.string() }),
  output: Booking,
  effect: "keyed",
  action: ({ input, services, ...call }) => services.flights.book(input, call).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => known(await services.flights.findByKey(operationId, call)),
  compensate: ({ output, services, ...call }) => services.flights.cancel(output, call),
  timeout: "10s",
});

export const bookHotel = step("bookHotel", {
  input: z.object({ tripId: z.string(), hotel: z.string() }),
  output: Booking,
  effect: "keyed",
  action: ({ input, services, ...call }) => services.hotels.book(input, call).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => known(await services.hotels.findByKey(operationId, call)),
  compensate: ({ output, services, ...call }) => services.hotels.cancel(output, call),
  timeout: "10s",
});

export const sendItinerary = step("sendItinerary", {
  input: z.object({ tripId: z.string(), to: z.email(), subject: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
  noCompensation: "a mail that was read cannot be unread",
  timeout: "10s",
});

export const trip = saga("trip", { version: 1, input: Trip })
  .parallel({
    flight: (branch) => branch.step(bookFlight, ({ input }) => ({ tripId: input.id, flight: input.flight })),
    hotel: (branch) => branch.step(bookHotel, ({ input }) => ({ tripId: input.id, hotel: input.hotel })),
  })
  .step(sendItinerary, ({ input, results }) => ({
    tripId: input.id,
    to: input.email,
    subject: `Flight ${results.bookFlight.bookingId} and hotel ${results.bookHotel.bookingId}`,
  }))
  .build({
    output: ({ results }) => ({ flight: results.bookFlight.bookingId, hotel: results.bookHotel.bookingId }),
  });
