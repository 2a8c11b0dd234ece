/* Checkpoints lie in the last two of the flash's sectors, a slot in each (RM0385, flash memory organization: 256 KB
   each). The chip has one bank: whatever the core fetches while the flash is busy waits on the bus until it is not
   (RM0385, FLASH: program and erase operations), interrupts too, so that an erase is a second or two in which the core
   stands still; the ring of the receiving DMA, in RAM, goes on. Words of 32 bits, which 2.7 to 3.6 V allow (RM0385,
   FLASH: program/erase parallelism). */
#include <string.h>

#include "agent/port.h"
#include "cache.h"
#include "mpu.h"
#include "stm32f746.h"

enum {
    BASE = 0x08080000,
    LOG2_SIZE = 19,
    SECTOR = 0x40000,
    FIRST_SECTOR = 6,
    WORD = 4,
    POLLS = 100000000, /* seconds, where the longest operation takes two */
};

/* Uncached and writable only meanwhile: a network may lie here, and is read through the cache, as checkpoints are. */
static const mpu_region_t region = {
    .base = BASE, .log2_size = LOG2_SIZE, .attributes = MPU_READ_WRITE | MPU_UNCACHED | MPU_NEVER_EXECUTE};

port_flash_t port_flash(void) {
    return (port_flash_t){.base = BASE, .size = 1u << LOG2_SIZE, .erase = SECTOR, .program = WORD};
}

static void unlock(uint32_t control) {
    mpu_open(&region);
    FLASH_SR = FLASH_SR_ERRORS | FLASH_SR_EOP;
    if ((FLASH_CR & FLASH_CR_LOCK) != 0) {
        FLASH_KEYR = FLASH_KEY_1;
        FLASH_KEYR = FLASH_KEY_2;
    }
    FLASH_CR = control;
    barrier();
}

/* Wait for the operation; whether it went well. */
static bool wait(void) {
    return wait_until(&FLASH_SR, FLASH_SR_BSY, 0, POLLS) && (FLASH_SR & FLASH_SR_ERRORS) == 0;
}

static void lock(uint32_t offset, uint32_t n) {
    FLASH_CR = FLASH_CR_LOCK;
    mpu_close();
    cache_forget(BASE + offset, n);
}

bool port_flash_erase(uint32_t offset) {
    const uint32_t sector = FLASH_CR_PSIZE_32 | FLASH_CR_SER | FLASH_CR_SNB(FIRST_SECTOR + offset / SECTOR);
    unlock(sector);
    FLASH_CR = sector | FLASH_CR_STRT;
    barrier(); /* RM0385, FLASH: BSY is up one cycle after STRT */
    const bool good = wait();
    lock(offset, SECTOR);
    return good;
}

/* Each word is in the flash before the next is stored: two that the core's store buffer made one would be another size
   than PSIZE. */
bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    unlock(FLASH_CR_PSIZE_32 | FLASH_CR_PG);
    bool good = true;
    for (uint32_t at = 0; good && at < n; at += WORD) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        REGISTER(BASE + offset + at) = word;
        barrier();
        good = wait();
    }
    lock(offset, (uint32_t)n);
    return good;
}

/* This flash has no ECC: what a power cut left is read as some value, and the CRC tells. */
bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    memcpy(bytes, (const void *)(uintptr_t)(BASE + offset), n);
    return true;
}
