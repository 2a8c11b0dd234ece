/* Checkpoints lie in the last 512 KB of bank 2, while the program runs from bank 1 (RM0455, FLASH: read-while-write).
   Sectors of 8 KB, flash words of 16 bytes, each with an ECC of its own; an erase takes about 2 ms, a flash word about
   0.1 ms (DS13139, flash memory). */
#include <string.h>

#include "agent/port.h"
#include "stm32h7b3.h"

enum {
    BASE = 0x08180000,
    SIZE = 0x80000,
    SECTOR = 8192,
    WORD = 16,
    FIRST_SECTOR = (BASE - 0x08100000) / SECTOR, /* of bank 2 */
    POLLS = 100000000,                           /* seconds, where the longest operation takes milliseconds */
};

port_flash_t port_flash(void) {
    return (port_flash_t){.base = BASE, .size = SIZE, .erase = SECTOR, .program = WORD};
}

static void unlock(void) {
    FLASH_CCR2 = FLASH_SR_ERRORS | FLASH_SR_EOP;
    if ((FLASH_CR2 & FLASH_CR_LOCK) != 0) {
        FLASH_KEYR2 = FLASH_KEY_1;
        FLASH_KEYR2 = FLASH_KEY_2;
    }
}

/* Wait for the operation; whether it went well. */
static bool wait(void) {
    return wait_until(&FLASH_SR2, FLASH_SR_BSY | FLASH_SR_WBNE | FLASH_SR_QW, 0, POLLS) &&
           (FLASH_SR2 & FLASH_SR_ERRORS) == 0;
}

static void lock(void) {
    FLASH_CR2 = 0;
    FLASH_CR2 = FLASH_CR_LOCK;
}

bool port_flash_erase(uint32_t offset) {
    unlock();
    const uint32_t sector = FLASH_CR_SER | FLASH_CR_SSN(FIRST_SECTOR + offset / SECTOR);
    FLASH_CR2 = sector;
    FLASH_CR2 = sector | FLASH_CR_START;
    const bool good = wait();
    lock();
    return good;
}

/* Four words, in order, make a flash word (RM0455, FLASH: single write sequence). */
bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    unlock();
    FLASH_CR2 = FLASH_CR_PG;
    barrier();
    bool good = true;
    for (uint32_t at = 0; good && at < n; at += WORD) {
        uint32_t words[WORD / 4];
        memcpy(words, bytes + at, sizeof words);
        for (uint32_t i = 0; i < WORD / 4; i++) {
            REGISTER(BASE + offset + at + 4 * i) = words[i];
        }
        barrier();
        good = wait();
    }
    lock();
    return good;
}

/* A flash word whose programming was cut has a wrong ECC, and reading it is a bus fault (RM0455, FLASH: error
   correction code); at the priority of FAULTMASK with BFHFNMIGN it is ignored [B1.5.6, B3.2.8], and the flag in the
   status tells. The region holds there too (mpu.c): what an erase or a program changed is not read from the cache. */
bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    FLASH_CCR2 = FLASH_SR_DBECCERR;
    SCB_CCR |= CCR_BFHFNMIGN;
    faults_mask();
    memcpy(bytes, (const void *)(uintptr_t)(BASE + offset), n);
    barrier();
    faults_unmask();
    SCB_CCR &= ~CCR_BFHFNMIGN;
    return (FLASH_SR2 & FLASH_SR_DBECCERR) == 0;
}
