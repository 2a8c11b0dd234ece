/* A loss difference as an integer: docs/arithmetic-zeroth-order.md, section 4. */
#ifndef LOSS_DELTA_H
#define LOSS_DELTA_H

#include <stdint.h>

/* delta_q of d_q = `difference`, which is finite: in -2^21..2^21. */
int32_t loss_delta(float difference);

#endif
