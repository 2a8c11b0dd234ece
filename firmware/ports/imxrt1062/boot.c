/* What the boot ROM reads before there is a program (IMXRT1060RM, System Boot: FlexSPI serial NOR flash boot, image
   vector table, boot data): the flash configuration block at the start of the flash, the image vector table 4 KB after
   it. Offsets and meanings of the words were read in NXP's public driver (mcux-sdk, flash configuration structures) and
   in the start-up code of PJRC and Zephyr. */
#include <stdint.h>

#include "board.h"
#include "reset.h"

#define FLASH_START 0x60000000u

/* One instruction of the FlexSPI's look-up table, and two of them in a word. */
#define INSTRUCTION(opcode, log2_pads, operand) ((uint32_t)((opcode) << 10 | (log2_pads) << 8 | (operand)))
#define PAIR(first, second) (first | second << 16)
enum { COMMAND = 0x01, ADDRESS = 0x02, MODE_8_BITS = 0x07, READ = 0x09, DUMMY = 0x0C, STOP = 0x00 };
enum { ONE_PAD = 0, FOUR_PADS = 2 };

/* EBh, fast read on four lines: address, mode bits, 4 dummy cycles (W25Q16JV data sheet, 8.2: instructions). Mode bits
   of all ones keep the flash out of its continuous read mode, so that it understands the boot ROM after any reset. The
   quad enable bit of these boards' flash is set at the factory (its name ends in IQ or IM: unverified; PJRC's own
   start-up relies on it). */
#define QUAD_READ                                                                                                      \
    PAIR(INSTRUCTION(COMMAND, ONE_PAD, 0xEB), INSTRUCTION(ADDRESS, FOUR_PADS, 24)),                                    \
        PAIR(INSTRUCTION(MODE_8_BITS, FOUR_PADS, 0xFF), INSTRUCTION(DUMMY, FOUR_PADS, 4)),                             \
        PAIR(INSTRUCTION(READ, FOUR_PADS, 4), INSTRUCTION(STOP, ONE_PAD, 0))

typedef struct {
    uint32_t tag, version, reserved_008;
    uint8_t sample_clock, hold_cycles, setup_cycles, column_bits;
    uint32_t mode_commands[12], misc_options;
    uint8_t device_type, pads, clock, custom_sequences;
    uint32_t reserved_048[2], size_a1, size_a2, size_b1, size_b2, pad_overrides[4], timeouts[4];
    uint32_t look_up[64], custom[12], reserved_1b0[4];
    uint32_t page_size, sector_size, ip_clock, reserved_1cc, block_size, reserved_1d4[11];
} flash_config_t;

typedef struct {
    uint32_t header;
    const void *entry;
    uint32_t reserved_08, device_configuration;
    const void *boot_data, *self;
    uint32_t command_sequence, reserved_1c;
} image_vector_table_t;

typedef struct {
    uint32_t start;
    const void *length; /* a number; the type of a symbol of the linker script */
    uint32_t plugin;
} boot_data_t;

/* What the ROM takes as a vector table: stack pointer and first instruction. */
typedef struct {
    uint32_t *stack;
    void (*start)(void);
} entry_t;

enum { IVT_AT = 0x1000, VECTORS_AT = 0x1400 };

typedef struct {
    flash_config_t flash;
    uint8_t unused[IVT_AT - sizeof(flash_config_t)];
    image_vector_table_t table;
    boot_data_t image;
    entry_t entry;
    uint8_t unused_too[VECTORS_AT - IVT_AT - sizeof(image_vector_table_t) - sizeof(boot_data_t) - sizeof(entry_t)];
} boot_header_t;

_Static_assert(sizeof(flash_config_t) == 512, "the flash configuration block has 512 bytes");
_Static_assert(sizeof(boot_header_t) == VECTORS_AT, "the program's vectors follow at a multiple of 1 KB");

extern const uint8_t __boot_length[];

__attribute__((section(".boot2"), used)) static const boot_header_t header = {
    .flash =
        {
            .tag = 0x42464346, /* "FCFB" */
            .version = 0x56010000,
            .sample_clock = 1, /* looped back from the DQS pad, which these boards leave free for it */
            .hold_cycles = 3,
            .setup_cycles = 3,
            .device_type = 1, /* serial NOR */
            .pads = 4,
            .clock = 6,          /* 100 MHz; the flash allows 133 MHz */
            .size_a1 = 2u << 20, /* of a Teensy 4.0; the larger boards have more */
            .look_up = {QUAD_READ},
            .page_size = 256,
            .sector_size = 4096,
            .ip_clock = 1, /* 30 MHz */
            .block_size = 0x10000,
        },
    .table =
        {
            .header = 0x412000D1,   /* tag D1h, 32 bytes (big-endian), version 4.1 */
            .entry = &header.entry, /* a vector table, whatever the manual's text says (PJRC, NXP's own images) */
            .boot_data = &header.image,
            .self = &header.table,
        },
    .image = {.start = FLASH_START, .length = __boot_length},
    .entry = {.stack = __stack_top, .start = flexram_start},
};
