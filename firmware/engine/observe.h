/* Callback for every activation and error of one sample: the search for the layer that went wrong. */
#ifndef OBSERVE_H
#define OBSERVE_H

#include <stdint.h>

typedef struct {
    void (*see)(void *context, const int8_t *values, uint32_t bytes, int32_t exponent);
    void *context;
    uint16_t member; /* of the group */
} observer_t;

/* Show the values of the observed member, so many bytes; `values` are those of the whole group. */
static inline void observe(const observer_t *observer, const int8_t *values, uint32_t bytes, int32_t exponent) {
    if (observer != 0) {
        observer->see(observer->context, values + observer->member * bytes, bytes, exponent);
    }
}

#endif
