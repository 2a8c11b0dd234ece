/* Loops of move_s8_m0.c for Armv6-M, 24 weights at a time, up to `end`. Each returns the state of the stream after
   them. Private to move_s8_m0.c.

   A number stands for four signed bytes: b_0 + 2^8 b_1 + 2^16 b_2 + 2^24 b_3. Adding it to a word moves four weights at
   once, as long as none leaves its byte. The sign of its highest bit in each byte is that of the byte, or of those
   below where the byte is 0. */
#pragma once

#include <stdint.h>

enum { MOVE_GROUPS_WEIGHTS = 24 };

/* words[f]: a move after which every weight is within -127..127. */
uint32_t move_groups_free(int8_t *weights, const int8_t *end, const uint32_t *words, uint32_t state);

/* words[2 f] a tested move t, words[2 f + 1] another one m, both with bytes of -127..127: each weight becomes
   min(max(w + t, -128), 127) + (m - t), which is w + m where w + t does not saturate. `within`: all m are between 0 and
   t; `apart`: 0 is between m and t, which are less than 128 apart. */
uint32_t move_groups_within(int8_t *weights, const int8_t *end, const uint32_t *words, uint32_t state);
uint32_t move_groups_apart(int8_t *weights, const int8_t *end, const uint32_t *words, uint32_t state);
