/* INT8 back-propagation with straight-through gradients on tflite8: docs/arithmetic-backward.md. */
#ifndef BACK_PROPAGATION_H
#define BACK_PROPAGATION_H

#include "engine/method.h"

extern const method_t back_propagation;

#endif
