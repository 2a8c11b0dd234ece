/* A phase of a strided axis: the kernel's taps that are `stride` apart, from tap `first` on. Only they meet the input positions
   whose distance from the start of the padding has the same remainder: with one phase at a time, both backward passes of a
   strided convolution have stride 1. */
#ifndef TFLITE_PHASE_H
#define TFLITE_PHASE_H

#include <stdint.h>

typedef struct {
    uint32_t first, taps;
    uint32_t input, inputs; /* the first of the phase's input positions, and how many there are */
    uint32_t output;        /* the output position in which tap `first` lies on `input`; may be behind the last */
} phase_t;

static inline phase_t phase_of(uint32_t first, uint32_t kernel, uint32_t stride, uint32_t padding, uint32_t size) {
    phase_t phase = {.first = first, .taps = first < kernel ? (kernel - first - 1) / stride + 1 : 0};
    phase.output = first < padding ? (padding - first + stride - 1) / stride : 0;
    phase.input = phase.output * stride + first - padding;
    phase.inputs = phase.input < size ? (size - phase.input - 1) / stride + 1 : 0;
    return phase;
}

#endif
