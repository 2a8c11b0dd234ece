/* Checkpoints lie in the last 256 KB of the flash. The core stands still while a page is erased (85 ms) or a word is
   written (41 us), for it executes from the same flash (Product Specification, NVMC); meanwhile EasyDMA fills its two
   chunks, and what would come beyond them the link repeats. Nobody sends anything then: the host waits
   for the reply. */
#include <string.h>

#include "agent/port.h"
#include "nrf52840.h"

enum {
    BASE = FLASH_OF_CHECKPOINTS,
    SIZE = 1 << FLASH_OF_CHECKPOINTS_LOG2,
    PAGE = 4096,
    WORD = 4,
    POLLS = 10000000, /* seconds, where the longest operation takes 85 ms */
};

port_flash_t port_flash(void) {
    return (port_flash_t){.base = BASE, .size = SIZE, .erase = PAGE, .program = WORD};
}

static bool wait(void) {
    return wait_until(&NVMC_READY, NVMC_READY_READY, NVMC_READY_READY, POLLS);
}

/* The controller has no flag for an operation that failed: what was written is read back (trainer/checkpoint.c). */
bool port_flash_erase(uint32_t offset) {
    NVMC_CONFIG = NVMC_CONFIG_ERASE;
    NVMC_ERASEPAGE = BASE + offset;
    const bool good = wait();
    NVMC_CONFIG = NVMC_CONFIG_READ;
    return good;
}

bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    NVMC_CONFIG = NVMC_CONFIG_WRITE;
    bool good = wait();
    for (uint32_t at = 0; good && at < n; at += WORD) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        REGISTER(BASE + offset + at) = word;
        barrier();
        good = wait();
    }
    NVMC_CONFIG = NVMC_CONFIG_READ;
    return good;
}

bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    memcpy(bytes, (const void *)(uintptr_t)(BASE + offset), n);
    return true;
}
