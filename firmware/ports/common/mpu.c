#include "mpu.h"

#include "cortex_m.h"

/* Registers [B3.5.4] */
#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_RASR REGISTER(0xE000EDA0u)
#define MPU_CTRL_ENABLE (1u << 0)
#define MPU_RASR_ENABLE (1u << 0)

void mpu_start(const mpu_region_t *regions, size_t n) {
    for (size_t i = 0; i < n; i++) {
        MPU_RNR = (uint32_t)i;
        MPU_RBAR = regions[i].base;
        MPU_RASR = regions[i].attributes | (regions[i].log2_size - 1u) << 1 | MPU_RASR_ENABLE;
    }
    MPU_CTRL = MPU_CTRL_ENABLE;
    barrier();
}
