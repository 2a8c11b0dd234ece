#include "kernels/sign_moves.h"

#define BIT(signs, i) ((signs) >> (i) & 1u)
#if KERNELS_DSP
#define MOVES(signs)                                                                                                   \
    (0x01010101u + 0xFEu * (BIT(signs, 0) | BIT(signs, 1) << 8 | BIT(signs, 2) << 16 | BIT(signs, 3) << 24))
#else
#define MOVES(signs)                                                                                                   \
    (0x01010101u - 2u * (BIT(signs, 0) | BIT(signs, 1) << 8 | BIT(signs, 2) << 16 | BIT(signs, 3) << 24))
#endif

const uint32_t four_moves[16] = {MOVES(0u),  MOVES(1u),  MOVES(2u),  MOVES(3u), MOVES(4u),  MOVES(5u),
                                 MOVES(6u),  MOVES(7u),  MOVES(8u),  MOVES(9u), MOVES(10u), MOVES(11u),
                                 MOVES(12u), MOVES(13u), MOVES(14u), MOVES(15u)};
