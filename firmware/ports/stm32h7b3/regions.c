#include "board.h"

#include "mpu.h"

/* Memory map: RM0455, memory organization. */
static const mpu_region_t regions[] = {
    {.base = 0x08000000u, .log2_size = 21, .attributes = MPU_READ_ONLY | MPU_WRITE_THROUGH}, /* flash, 2 MB */
    {.base = 0x08180000u,
     .log2_size = 19,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* of it for checkpoints: flash.c */
    {.base = 0x20000000u, .log2_size = 17, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* DTCM */
    {.base = 0x24000000u, .log2_size = 20, .attributes = MPU_READ_WRITE | MPU_WRITE_BACK | MPU_NEVER_EXECUTE}, /* AXI */
    {.base = 0x30000000u,
     .log2_size = 16,
     .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE}, /* AHB SRAM 1 */
    {.base = 0x40000000u, .log2_size = 29, .attributes = MPU_READ_WRITE | MPU_DEVICE | MPU_NEVER_EXECUTE},
};

void regions_protect(void) {
    mpu_start(regions, sizeof regions / sizeof regions[0]);
}
