/* Where the cycles of a step go: by phase, forward and backward by layer, and in which order the phases came. */
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

enum phase { PHASE_PERTURB = 0, PHASE_FORWARD = 1, PHASE_BACKWARD = 2, PHASE_UPDATE = 3 };
enum { ENGINE_MAX_STRETCHES = 96, STRETCH_PHASE_BIT = 56 };

/* A step's phases alternate from group to group: its stretches in order, so that a power trace can be laid over them. */
typedef struct {
    uint64_t told[ENGINE_MAX_STRETCHES]; /* the phase in the highest byte, the cycles below it */
    uint16_t made;                       /* of the step, also those that there was no room for */
    uint8_t phase;                       /* of the latest */
    uint64_t marked;                     /* what had been booked when it ended */
} stretches_t;

typedef struct {
    uint32_t (*cycles)(void); /* a free-running counter, modulo 2^32 */
    uint32_t lap;             /* what it showed when something was last booked */
    bool running;             /* in a step; an evaluation books nothing, so that the account stays that of the last step */
    cycle_account_t account;
    uint64_t booked; /* all that ever was */
    stretches_t stretches;
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

/* A step begins: no stretches yet. */
static inline void stretches_begin(stopwatch_t *watch) {
    watch->stretches.made = 0;
    watch->stretches.marked = watch->booked;
}

/* What was booked since the last call was of a phase; it goes on with the stretch before where that was of the same. */
static inline void stretches_mark(stopwatch_t *watch, uint8_t phase) {
    stretches_t *stretches = &watch->stretches;
    const uint64_t cycles = watch->booked - stretches->marked;
    stretches->marked = watch->booked;
    const bool goes_on = stretches->made > 0 && stretches->phase == phase;
    stretches->phase = phase;
    stretches->made = (uint16_t)(stretches->made + (!goes_on && stretches->made < UINT16_MAX));
    const uint16_t place = (uint16_t)(stretches->made - 1);
    if (place < ENGINE_MAX_STRETCHES) {
        stretches->told[place] = goes_on ? stretches->told[place] + cycles : (uint64_t)phase << STRETCH_PHASE_BIT | cycles;
    }
}

#endif
