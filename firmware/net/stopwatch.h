/* Where the cycles of a step go: by phase, and forward and backward by layer. */
#ifndef STOPWATCH_H
#define STOPWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/training.h"

typedef struct {
    uint64_t perturb, update, digest;
    uint64_t forward[ENGINE_MAX_LAYERS]; /* the loss counts to the last layer */
    uint64_t backward[ENGINE_MAX_LAYERS];
} cycle_account_t;

typedef struct {
    uint32_t (*cycles)(void); /* a free-running counter, modulo 2^32 */
    uint32_t lap;             /* what it showed when something was last booked */
    bool running;             /* in a step; an evaluation books nothing, so that the account stays that of the last step */
    cycle_account_t account;
    uint64_t booked; /* all that ever was */
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
    watch->lap = now;
}

#endif
