/* The numbers of the checks of a layer, `b` of network_layer: docs/network-tflite.md. */
#ifndef GRAPH_CHECKS_H
#define GRAPH_CHECKS_H

#include <stdbool.h>

enum graph_check {
    CHECK_PASSED = 0,
    CHECK_OP = 1,
    CHECK_INPUT = 2,
    CHECK_OUTPUT = 3,
    CHECK_KERNEL = 4,
    CHECK_COUNT = 5,
    CHECK_PLACE = 6,
    CHECK_ZERO = 7,
    CHECK_CLASSES = 8,
    CHECK_SCALE = 9,
    CHECK_DIMENSION = 10,
    CHECK_SUMS = 11,
    CHECK_WEIGHT = 12,
    CHECK_LIMITS = 13,
};

/* A normal number in 2^-40..2^40. */
static inline bool scale_is_allowed(float scale) {
    return scale >= 0x1p-40f && scale <= 0x1p40f;
}

#endif
