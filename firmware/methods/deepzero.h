/* DeepZero's coordinate-wise estimate: docs/arithmetic-zeroth-order.md, section 8. */
#ifndef DEEPZERO_H
#define DEEPZERO_H

#include "engine/method.h"

extern const method_t deepzero;

#endif
