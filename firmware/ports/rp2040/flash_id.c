/* The flash's own number, asked for past the window of the reads, by a function in RAM (as ../rp2/flash.c). */
#include <stdint.h>
#include <string.h>

#include "agent/port.h"
#include "board.h"

enum {
    READ_UNIQUE_ID = 0x4B, /* four bytes that say nothing, then eight (W25Q16JV data sheet, 8.2) */
    BEFORE_ID = 1 + 4,
    ID_SIZE = 8,
};

typedef struct {
    void (*connect)(void);
    void (*exit_xip)(void);
    void (*flush)(void);
    uint32_t set_up[64];
} rom_t;

static bool find_all(rom_t *rom) {
    rom->connect = (void (*)(void))rom_function('I', 'F');
    rom->exit_xip = (void (*)(void))rom_function('E', 'X');
    rom->flush = (void (*)(void))rom_function('F', 'C');
    return rom->connect != NULL && rom->exit_xip != NULL && rom->flush != NULL;
}

/* The ROM's flash_exit_xip leaves the SSI with frames of 8 bits at a sixth of the core's clock, and the select line to
   it (pico-bootrom-rp2040, program_flash_generic.c). A byte takes 48 cycles: the FIFO does not run dry meanwhile, which
   would end the command, and what comes back fits the other one, of 16. */
__attribute__((noinline, section(".in_ram"))) static void ask(const rom_t *rom, uint8_t *id) {
    rom->connect();
    rom->exit_xip();
    SSI_DR0 = READ_UNIQUE_ID;
    for (uint32_t i = 1; i < BEFORE_ID + ID_SIZE; i++) {
        SSI_DR0 = 0;
    }
    for (uint32_t i = 0; i < BEFORE_ID + ID_SIZE; i++) {
        while ((SSI_SR & SSI_SR_RFNE) == 0) {
        }
        const uint8_t byte = (uint8_t)SSI_DR0;
        if (i >= BEFORE_ID) {
            id[i - BEFORE_ID] = byte;
        }
    }
    rom->flush();
    ((void (*)(void))((uintptr_t)rom->set_up | 1u))();
}

bool flash_unique_id(uint8_t id[8]) {
    void (*volatile const in_ram)(const rom_t *, uint8_t *) = ask;
    rom_t rom;
    if (!find_all(&rom)) {
        return false;
    }
    memcpy(rom.set_up, (const void *)FLASH_SET_UP, sizeof rom.set_up);
    interrupts_mask();
    in_ram(&rom, id);
    interrupts_unmask();
    return true;
}
