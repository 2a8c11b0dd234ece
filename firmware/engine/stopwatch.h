/* Counts the cycles of a step, by phase and layer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t (*cycles)(void); /* a free-running counter, modulo 2^32 */
    uint32_t lap;             /* what it showed when something was last booked */
    bool running;      /* in a step; an evaluation books nothing, so that the account stays that of the last step */
    uint64_t booked;   /* all that ever was */
    uint32_t bookings; /* how often, since its reader set it to 0 */
} stopwatch_t;

/* Book from now on. */
static inline void stopwatch_start(stopwatch_t *watch) {
    watch->running = true;
    watch->lap = watch->cycles();
}

static inline void stopwatch_stop(stopwatch_t *watch) {
    watch->running = false;
}

/* Book the cycles since the last booking, less than 2^32 of them; nothing while stopped. */
static inline void stopwatch_book(stopwatch_t *watch, uint64_t *to) {
    if (!watch->running) {
        return;
    }
    const uint32_t now = watch->cycles(), cycles = now - watch->lap;
    *to += cycles;
    watch->booked += cycles;
    watch->bookings++;
    watch->lap = now;
}

/* The cycles between two bookings with nothing between them: what one costs. */
static inline uint32_t stopwatch_book_nothing(stopwatch_t *watch) {
    uint64_t first = 0, nothing = 0;
    stopwatch_start(watch);
    stopwatch_book(watch, &first); /* so that the next one follows a booking, as in a step */
    stopwatch_book(watch, &nothing);
    stopwatch_stop(watch);
    return (uint32_t)nothing;
}
