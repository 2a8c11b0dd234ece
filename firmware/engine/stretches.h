/* The order of the phases of a step, and the cycles of each stretch: phases alternate from group to group. Reports show
   it beside the power trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum phase { PHASE_PERTURB = 0, PHASE_FORWARD = 1, PHASE_BACKWARD = 2, PHASE_UPDATE = 3 };
enum { ENGINE_MAX_STRETCHES = 96, STRETCH_PHASE_BIT = 56 };

typedef struct {
    uint64_t stretch[ENGINE_MAX_STRETCHES]; /* the phase in the highest byte, the cycles below it */
    uint16_t made;                          /* of the step, including those beyond ENGINE_MAX_STRETCHES */
    uint8_t phase;                          /* of the latest */
    uint64_t marked;                        /* what had been booked when it ended */
} stretches_t;

/* A step begins, and so much has been booked before it (stopwatch.h). */
static inline void stretches_begin(stretches_t *stretches, uint64_t booked) {
    stretches->made = 0;
    stretches->marked = booked;
}

/* What was booked since the last call belongs to `phase`. It extends the last stretch if that had the same phase. */
static inline void stretches_mark(stretches_t *stretches, uint64_t booked, uint8_t phase) {
    const uint64_t cycles = booked - stretches->marked;
    const bool extends = stretches->made > 0 && stretches->phase == phase;
    stretches->marked = booked;
    stretches->phase = phase;
    stretches->made = (uint16_t)(stretches->made + (!extends && stretches->made < UINT16_MAX));
    const uint16_t place = (uint16_t)(stretches->made - 1);
    if (place < ENGINE_MAX_STRETCHES) {
        stretches->stretch[place] =
            extends ? stretches->stretch[place] + cycles : (uint64_t)phase << STRETCH_PHASE_BIT | cycles;
    }
}
