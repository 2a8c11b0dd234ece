#include "board.h"

#include "mpu.h"

#define FIVE_EIGHTHS (0xE0u << 8) /* MPU_RASR.SRD: the last three of eight subregions are off [B3.5.9] */

/* Memory map: RM0385, memory organization. All RAM is of one type, so that an access may lie across the end of DTCM,
   which no cache covers whatever its region says (ARM DDI 0489, TCM). */
static const mpu_region_t regions[] = {
    {.base = 0x08000000u, .log2_size = 20, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 1 MB */
    {.base = 0x20000000u,
     .log2_size = 19,
     .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE | FIVE_EIGHTHS},
    {.base = UART_SEND_BASE,
     .log2_size = UART_SEND_LOG2,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE},
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

void regions_protect(void) {
    mpu_start(regions, sizeof regions / sizeof regions[0]);
}
