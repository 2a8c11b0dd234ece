/* Checkpoints lie in the last 512 KB of the flash. While it is erased or programmed it cannot be read: the boot ROM's
   functions do both (RP2040 data sheet, 2.8.3.1.3; RP2350 data sheet, bootrom APIs), called from a function in RAM,
   with interrupts off, whose handlers are in the flash. A copy on the stack of the code that set the flash up at the
   boot lets it be read again. What the line brings meanwhile goes to RAM by DMA or waits; the host sends nothing, it
   waits for the reply. */
#include <string.h>

#include "agent/port.h"
#include "board.h"

enum {
    WINDOW = 0x10000000,
    SIZE = 0x80000,
    FIRST = BOARD_FLASH_BYTES - SIZE, /* offset in the flash */
    SECTOR = 4096,
    PAGE = 256,
    BLOCK = 1 << 16, /* not used: never is more than a sector erased at once */
    BLOCK_ERASE = 0xD8,
};

typedef struct {
    void (*connect)(void);
    void (*exit_xip)(void);
    void (*erase)(uint32_t offset, size_t n, uint32_t block, uint8_t command);
    void (*program)(uint32_t offset, const uint8_t *bytes, size_t n);
    void (*flush)(void);
    uint32_t set_up[64];
} rom_t;

static bool find_all(rom_t *rom) {
    rom->connect = (void (*)(void))rom_function('I', 'F');
    rom->exit_xip = (void (*)(void))rom_function('E', 'X');
    rom->erase = (void (*)(uint32_t, size_t, uint32_t, uint8_t))rom_function('R', 'E');
    rom->program = (void (*)(uint32_t, const uint8_t *, size_t))rom_function('R', 'P');
    rom->flush = (void (*)(void))rom_function('F', 'C');
    return rom->connect != NULL && rom->exit_xip != NULL && rom->erase != NULL && rom->program != NULL &&
           rom->flush != NULL;
}

port_flash_t port_flash(void) {
    return (port_flash_t){.base = WINDOW + FIRST, .size = SIZE, .erase = SECTOR, .program = PAGE};
}

/* Program a page, or erase a sector where there are no bytes. */
__attribute__((noinline, section(".in_ram"))) static void operate(const rom_t *rom, uint32_t offset,
                                                                  const uint8_t *bytes) {
    rom->connect();
    rom->exit_xip();
    if (bytes == NULL) {
        rom->erase(offset, SECTOR, BLOCK, BLOCK_ERASE);
    } else {
        rom->program(offset, bytes, PAGE);
    }
    rom->flush();
    ((void (*)(void))((uintptr_t)rom->set_up | 1u))();
}

/* Called by a pointer, as RAM is beyond the reach of a branch. The ROM's functions say nothing of a failure: what was
   written is read back (trainer/checkpoint.c). */
static bool carry_out(uint32_t offset, const uint8_t *bytes) {
    void (*volatile const in_ram)(const rom_t *, uint32_t, const uint8_t *) = operate;
    rom_t rom;
    if (!find_all(&rom)) {
        return false;
    }
    memcpy(rom.set_up, (const void *)FLASH_SET_UP, sizeof rom.set_up);
    interrupts_mask();
    guard_off();
    in_ram(&rom, FIRST + offset, bytes);
    guard_on();
    interrupts_unmask();
    return true;
}

bool port_flash_erase(uint32_t offset) {
    return carry_out(offset, NULL);
}

bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    bool good = true;
    for (uint32_t at = 0; good && at < n; at += PAGE) {
        good = carry_out(offset + at, bytes + at);
    }
    return good;
}

bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    memcpy(bytes, (const void *)(uintptr_t)(WINDOW + FIRST + offset), n);
    return true;
}
