/* Poor Man's Training and its relatives on tflite8: docs/arithmetic-zeroth-order.md. */
#ifndef POOR_MANS_H
#define POOR_MANS_H

#include "engine/method.h"

extern const method_t poor_mans;

#endif
