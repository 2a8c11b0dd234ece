/* int32 sums to int8 outputs, rounded twice: docs/arithmetic-tflite.md, section 3, rescale `double`. */
#ifndef REQUANTIZE_CHANNELS_S8_H
#define REQUANTIZE_CHANNELS_S8_H

#include "kernels/tflite_layer.h"

requantize_channels_t requantize_channels_s8;

#endif
