#include "mpu.h"

#include "cortex_m.h"

/* Registers [B3.5.4]; of PMSAv8 (ARM DDI 0553B.l, registers) the fourth is MPU_RLAR. */
#define MPU_CTRL REGISTER(0xE000ED94u)
#define MPU_RNR REGISTER(0xE000ED98u)
#define MPU_RBAR REGISTER(0xE000ED9Cu)
#define MPU_CTRL_ENABLE (1u << 0)
#define MPU_CTRL_HFNMIENA (1u << 1)

#if __ARM_ARCH >= 8
#define MPU_RLAR REGISTER(0xE000EDA0u)
#define MPU_MAIR0 REGISTER(0xE000EDC0u)
#define MPU_RLAR_ENABLE (1u << 0)
#define MPU_RBAR_FIELDS 0x1Fu

/* Of MPU_DEVICE, Device-nGnRnE; of MPU_UNCACHED, Normal and Non-cacheable, outer and inner. */
#define ATTRIBUTES (0x00u | 0x44u << 8)

enum { FIRST_REGION = 0 };

static void set_region(uint32_t number, const mpu_region_t *region) {
    MPU_RNR = number;
    MPU_RBAR = region->base | (region->attributes & MPU_RBAR_FIELDS);
    MPU_RLAR = (region->base + ((1u << region->log2_size) - 32u)) | region->attributes >> 8 << 1 | MPU_RLAR_ENABLE;
}

#else
#define MPU_RASR REGISTER(0xE000EDA0u)
#define MPU_RASR_ENABLE (1u << 0)

/* Every core that has an MPU has eight regions at least [B3.5.5; ARM DDI 0419, B3.5]. */
enum { FIRST_REGION = 1, LAST_REGION = 7 };

/* Under all others: without a region there the core may still read ahead (Arm Cortex-M7 erratum 1013783, PLD; ST,
   AN4838, speculative prefetch), at addresses where nothing answers. */
static const mpu_region_t everything = {.base = 0, .log2_size = 32, .attributes = MPU_NEVER_EXECUTE};

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
#endif

/* HFNMIENA: without it the regions do not hold at the priority of FAULTMASK, and what is uncached by its region is read
   through the cache there. */
void mpu_resume(void) {
    MPU_CTRL = MPU_CTRL_ENABLE | MPU_CTRL_HFNMIENA;
    barrier();
}

void mpu_start(const mpu_region_t *regions, size_t n) {
#if __ARM_ARCH >= 8
    MPU_MAIR0 = ATTRIBUTES;
#else
    set_region(0, &everything);
#endif
    for (size_t i = 0; i < n; i++) {
        set_region(FIRST_REGION + (uint32_t)i, &regions[i]);
    }
    mpu_resume();
}

void mpu_pause(void) {
    MPU_CTRL = 0;
    barrier();
}
