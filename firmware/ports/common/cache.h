/* Caches of Cortex-M7 (ARM DDI 0403E.e, B2.2.7; ARM DDI 0489). */
#pragma once

/* Invalidate and enable instruction and data cache. */
void cache_start(void);
