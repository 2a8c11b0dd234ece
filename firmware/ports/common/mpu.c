#include "mpu.h"

#include "cortex_m.h"

/* Registers [B3.5.4] */
#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_RASR REGISTER(0xE000EDA0u)
#define MPU_CTRL_ENABLE (1u << 0)
#define MPU_RASR_ENABLE (1u << 0)

/* Every core that has an MPU has eight regions at least [B3.5.5; ARM DDI 0419, B3.5]. */
enum { LAST_REGION = 7 };

static void set_region(uint32_t number, const mpu_region_t *region) {
    MPU_RNR = number;
    MPU_RBAR = region->base;
    MPU_RASR = region->attributes | (region->log2_size - 1u) << 1 | MPU_RASR_ENABLE;
}

void mpu_open(const mpu_region_t *region) {
    set_region(LAST_REGION, region);
    barrier();
}

void mpu_close(void) {
    MPU_RNR = LAST_REGION;
    MPU_RASR = 0;
    barrier();
}

void mpu_start(const mpu_region_t *regions, size_t n) {
    for (size_t i = 0; i < n; i++) {
        set_region((uint32_t)i, &regions[i]);
    }
    MPU_CTRL = MPU_CTRL_ENABLE;
    barrier();
}
