/* Two 16-bit or four 8-bit lanes in a word: the instructions of Armv7E-M that the DSP forms of kernels are made of
   (ARM DDI 0403E.e, A4.4.3 and A7.7). They are in dsp_armv7em.h as assembly. With KERNELS_DSP_IN_C the same functions
   come from dsp_in_c.h, so that a computer without these instructions runs and checks the same kernels. Private to the
   kernels. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "kernels/core.h" /* which has the forms of a core */

/* Four bytes at any address: Armv7E-M loads and stores words unaligned. */
static inline uint32_t load_word(const int8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void store_word(int8_t *bytes, uint32_t word) {
    memcpy(bytes, &word, sizeof word);
}

/* The same byte four times. */
static inline uint32_t four_times(int32_t byte) {
    return ((uint32_t)byte & 0xFFu) * 0x01010101u;
}

/* A lane as a number. */
static inline int32_t lane_s16(uint32_t word, uint32_t i) {
    return (int16_t)(word >> (16 * i) & 0xFFFFu);
}

#if defined(__ARM_FEATURE_DSP) && !defined(KERNELS_DSP_IN_C)
#include "kernels/dsp_armv7em.h"
#else
#include "kernels/dsp_in_c.h"
#endif

/* The low bytes of four lanes: of `even` to bytes 0 and 2, of `odd` to bytes 1 and 3. */
static inline uint32_t lanes_to_bytes(uint32_t even, uint32_t odd) {
    return even_lanes_u8(even) | even_lanes_u8(odd) << 8;
}
