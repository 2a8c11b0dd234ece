/* Memory protection unit: PMSAv7 (ARM DDI 0403E.e, B3.5), and PMSAv8 of Armv8-M (ARM DDI 0553B.l, PMSA). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if __ARM_ARCH >= 8
/* Region attributes: fields of MPU_RBAR, and above them the number of a field of MPU_MAIR0 (mpu.c). */
#define MPU_NEVER_EXECUTE (1u << 0)
#define MPU_READ_WRITE (1u << 1)
#define MPU_READ_ONLY (3u << 1)
#define MPU_DEVICE (0u << 8)
#define MPU_UNCACHED (1u << 8)
#else
/* Region attributes, as fields of MPU_RASR [B3.5.9]. */
#define MPU_NEVER_EXECUTE (1u << 28)
#define MPU_READ_WRITE (3u << 24)
#define MPU_READ_ONLY (6u << 24)
#define MPU_DEVICE (1u << 18 | 1u << 16)
#define MPU_UNCACHED (1u << 19)
#define MPU_WRITE_THROUGH (1u << 17)
#define MPU_WRITE_BACK (1u << 19 | 1u << 17 | 1u << 16)
#endif

typedef struct {
    uint32_t base; /* a multiple of the size */
    uint32_t log2_size;
    uint32_t attributes;
} mpu_region_t;

/* Protect, handlers of faults too: an access outside the regions (other than to the core's own registers) becomes a
   MemManage fault. Six regions at most. They do not overlap: PMSAv8 refuses an access to two. */
void mpu_start(const mpu_region_t *regions, size_t n);

/* No region holds, until the same ones do again: for code that must leave them. */
void mpu_pause(void);
void mpu_resume(void);

/* One region more, above all others, until it is closed; not with PMSAv8, where none is above another. */
void mpu_open(const mpu_region_t *region);
void mpu_close(void);
