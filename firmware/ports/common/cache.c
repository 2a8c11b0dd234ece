#include "cache.h"

#include <stdint.h>

#include "cortex_m.h"

/* Cache maintenance [B2.2.7], cache identification [B4.8] */
#define SCB_ICIALLU REGISTER(0xE000EF50u)
#define SCB_DCIMVAC REGISTER(0xE000EF5Cu)
#define SCB_DCISW REGISTER(0xE000EF60u)
#define SCB_CCSIDR REGISTER(0xE000ED80u)
#define SCB_CSSELR REGISTER(0xE000ED84u)
#define CCR_DC (1u << 16)
#define CCR_IC (1u << 17)

enum { LINE = 32 }; /* bytes (ARM DDI 0489, L1 caches) */

/* The data cache's contents are unknown after reset: every line of every set and way is invalidated by its position. */
static void invalidate_data_cache(void) {
    SCB_CSSELR = 0; /* level 1, data */
    barrier();
    const uint32_t id = SCB_CCSIDR;
    const uint32_t line_shift = (id & 7u) + 4u; /* log2 of the line's bytes */
    const uint32_t last_way = (id >> 3) & 0x3FFu;
    const uint32_t last_set = (id >> 13) & 0x7FFFu;
    /* The way fills the operand from the top; a cache of one way has no way field. */
    const uint32_t way_shift = last_way == 0 ? 0 : (uint32_t)__builtin_clz(last_way);
    for (uint32_t set = 0; set <= last_set; set++) {
        for (uint32_t way = 0; way <= last_way; way++) {
            SCB_DCISW = way << way_shift | set << line_shift;
        }
    }
    barrier();
}

void cache_start(void) {
    SCB_ICIALLU = 0;
    barrier();
    SCB_CCR |= CCR_IC;
    barrier();
    invalidate_data_cache();
    SCB_CCR |= CCR_DC;
    barrier();
}

void cache_forget(uint32_t address, uint32_t n) {
    for (uint32_t line = address & ~(LINE - 1u); line < address + n; line += LINE) {
        SCB_DCIMVAC = line;
    }
    barrier();
}
