/* Caches of Cortex-M7 (ARM DDI 0403E.e, B2.2.7; ARM DDI 0489). */
#pragma once

#include <stdint.h>

/* Invalidate and enable instruction and data cache. */
void cache_start(void);

/* Drop what the data cache holds of n bytes that changed in memory. No store to them waits in the cache. */
void cache_forget(uint32_t address, uint32_t n);
