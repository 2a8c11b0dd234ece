/* The whole agent with the engine behind it, on a port made of memory. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/memory.h"
#include "agent/port.h"
#include "harness.h"
#include "trainer/trainer.h"

enum { ARENA_SIZE = 1 << 16, FLASH_SIZE = 1 << 16, SLOTS_SIZE = 1024, MOST_SLOTS = 1 << 14, PIECE = 128, UNIT = 16 };

/* Where flash is on many boards: an address of 32 bits. */
#define FLASH_BASE ((void *)0x08000000)

static agent_t agent;
static trainer_t rig;
static agent_engine_t trainer;
static uint8_t *arena; /* from the heap: an access beyond it is an error that the sanitizer sees */
static const uint8_t *arrived;
static size_t waiting;
static uint32_t cycles;

const char *port_board_name(void) {
    return "harness";
}

uint32_t port_clock_hz(void) {
    return 1000000;
}

uint32_t port_cpuid(void) {
    return 0x411FC271u;
}

uint16_t port_rx_window(void) {
    return 4096;
}

uint8_t port_counter(void) {
    return MSG_COUNTER_NONE;
}

uint32_t port_cycles(void) {
    return cycles++;
}

void port_counter_restart(void) {
}

void port_marker(bool high) {
    harness_event("marker %d\n", high);
}

void port_sleep_ms(uint32_t ms) {
    harness_event("sleep %u\n", (unsigned)ms);
}

void port_uart_write(const uint8_t *bytes, size_t n) {
    harness_sent(bytes, n);
}

size_t port_uart_read(uint8_t *bytes, size_t capacity) {
    const size_t n = waiting < capacity ? waiting : capacity;
    memcpy(bytes, arrived, n);
    arrived += n;
    waiting -= n;
    return n;
}

/* Flash for checkpoints, in the file that HARNESS_SLOTS names so that it survives the process; of the size of that file, where it is there. Where
   HARNESS_CUT is n, the n-th operation is left half done and the process ends, as by a power cut. */
static uint8_t slots[MOST_SLOTS];
static size_t slots_size = SLOTS_SIZE;
static unsigned operations;

static void keep_slots(void) {
    FILE *file = fopen(getenv("HARNESS_SLOTS"), "wb");
    if (file == NULL || fwrite(slots, 1, slots_size, file) != slots_size || fclose(file) != 0) {
        abort();
    }
}

static void operate(uint32_t offset, const uint8_t *bytes, size_t n) {
    const char *cut = getenv("HARNESS_CUT");
    const bool cuts = cut != NULL && strtoul(cut, NULL, 10) == ++operations;
    for (size_t i = 0; i < (cuts ? n / 2 : n); i++) {
        slots[offset + i] = bytes == NULL ? 0xFF : slots[offset + i] & bytes[i];
    }
    if (cuts) {
        keep_slots();
        _exit(0);
    }
}

port_flash_t port_flash(void) {
    return (port_flash_t){.base = 0x09000000,
                          .size = getenv("HARNESS_SLOTS") == NULL ? 0 : (uint32_t)slots_size,
                          .erase = PIECE,
                          .program = UNIT};
}

bool port_flash_erase(uint32_t offset) {
    operate(offset, NULL, PIECE);
    keep_slots();
    return true;
}

bool port_flash_program(uint32_t offset, const uint8_t *bytes, size_t n) {
    for (size_t at = 0; at < n; at += UNIT) {
        operate(offset + (uint32_t)at, bytes + at, UNIT);
    }
    keep_slots();
    return n % UNIT == 0 && memcmp(slots + offset, bytes, n) == 0; /* it was erased */
}

bool port_flash_read(uint32_t offset, uint8_t *bytes, size_t n) {
    memcpy(bytes, slots + offset, n);
    return true;
}

static void take_slots(const char *path) {
    FILE *file = path == NULL ? NULL : fopen(path, "rb");
    if (file != NULL) {
        slots_size = fread(slots, 1, sizeof slots, file);
        if (slots_size == 0 || slots_size % (2 * PIECE) != 0 || fclose(file) != 0) {
            abort();
        }
    }
}

memory_range_t memory_image(void) {
    return (memory_range_t){.base = NULL, .size = 0};
}

uint32_t memory_image_digest(void) {
    return 0;
}

uint32_t memory_static(void) {
    return 0;
}

memory_range_t memory_arena(void) {
    return (memory_range_t){.base = arena, .size = ARENA_SIZE};
}

memory_range_t memory_flash(void) {
    return (memory_range_t){.base = FLASH_BASE, .size = FLASH_SIZE};
}

memory_range_t memory_stack(void) {
    return (memory_range_t){.base = NULL, .size = 0};
}

uint32_t memory_stack_peak(void) {
    return 0;
}

/* Flash with the bytes of the file that HARNESS_FLASH names. */
static void make_flash(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    const char *path = getenv("HARNESS_FLASH");
    if (mmap(FLASH_BASE, FLASH_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != FLASH_BASE) {
        abort();
    }
    if (path != NULL) {
        FILE *file = fopen(path, "rb");
        if (file == NULL || fread(FLASH_BASE, 1, FLASH_SIZE, file) == 0) {
            abort();
        }
        fclose(file);
    }
    mprotect(FLASH_BASE, FLASH_SIZE, PROT_READ); /* who writes there faults */
}

void harness_start(void) {
    arena = malloc(ARENA_SIZE);
    if (arena == NULL) {
        abort();
    }
    make_flash();
    take_slots(getenv("HARNESS_SLOTS"));
    trainer = trainer_start(&rig);
    agent_init(&agent, &trainer);
}

void harness_receive(const uint8_t *bytes, size_t n) {
    arrived = bytes;
    waiting = n;
    while (agent_poll(&agent) > 0) {
    }
}
