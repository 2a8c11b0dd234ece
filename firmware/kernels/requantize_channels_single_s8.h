/* int32 sums to int8 outputs, rounded once: docs/arithmetic-tflite.md, section 3, rescale `single`. */
#ifndef REQUANTIZE_CHANNELS_SINGLE_S8_H
#define REQUANTIZE_CHANNELS_SINGLE_S8_H

#include "kernels/tflite_layer.h"

requantize_channels_t requantize_channels_single_s8;

#endif
