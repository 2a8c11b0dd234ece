/* The 32-bit counter made of SysTick: read at any time, with the interrupt of a wrap before, within and behind the
   reading. */
#include <stdbool.h>

#include "check.h"
#include "cortex_m.h"
#include "ports/ticks/ticks.c"

/* SysTick as ARM DDI 0403E.e, B3.3.1 has it: counts from RVR down to 0 and on at RVR; going from 1 to 0 makes the
   exception pending. */
enum { ROUND = 1 << 24 };
static uint64_t now;    /* cycles since the start, the truth */
static uint64_t pended; /* wraps whose exception has become pending */
static uint32_t csr, rvr, cvr, icsr;
static uint32_t slowest; /* most cycles between two accesses */
static bool masked;

/* Let time pass, as it does between two accesses; then the exception is taken, or not before the next. */
static void pass(void) {
    const bool waited = (icsr & ICSR_PENDSTSET) != 0;
    now += (uint64_t)draw(1, (int32_t)slowest);
    const uint64_t wraps_by_now = now / ROUND;
    if (wraps_by_now > pended) {
        pended = wraps_by_now; /* one bit: of two wraps while it is pending one is lost */
        icsr |= ICSR_PENDSTSET;
    }
    if (!masked && (icsr & ICSR_PENDSTSET) != 0 && (waited || draw(0, 2) > 0)) {
        icsr &= ~ICSR_PENDSTSET;
        ticks_handler();
    }
    cvr = (uint32_t)(-now & (ROUND - 1));
}

volatile uint32_t *systick_csr(void) {
    return &csr;
}

volatile uint32_t *systick_rvr(void) {
    return &rvr;
}

volatile uint32_t *systick_cvr(void) {
    pass();
    return &cvr;
}

volatile uint32_t *systick_icsr(void) {
    pass();
    return &icsr;
}

static void start_at(uint64_t time) {
    ticks_start();
    now = time;
    pended = time / ROUND;
    wraps = (uint32_t)pended;
    icsr = 0;
}

/* A reading lies between the cycle at which it begins and the one at which it ends, modulo 2^32. */
static void check_reading(void) {
    const uint64_t before = now;
    const uint32_t found = ticks_read();
    CHECK((uint32_t)(found - (uint32_t)before) <= now - before, "read %08x between %llx and %llx", found,
          (unsigned long long)before, (unsigned long long)now);
}

/* Round the end of 24 and of 32 bits, cycle by cycle. */
static void test_ends(void) {
    slowest = 3;
    for (uint64_t end = ROUND; end <= (uint64_t)1 << 33; end <<= 1) {
        for (uint64_t before = 0; before < 40; before++) {
            start_at(end - before);
            for (int i = 0; i < 20; i++) {
                check_reading();
            }
        }
    }
}

/* A region of several rounds, its interrupts taken, is as long as it is; up to 2^32 cycles, the reach of the
   counter. */
static void test_long_regions(void) {
    for (int i = 0; i < 2000; i++) {
        slowest = 3;
        start_at((uint64_t)draw(0, INT32_MAX) * 4u);
        const uint64_t began = now;
        const uint32_t first = ticks_read();
        slowest = ROUND / 4;
        for (int passes = draw(1, 800); passes > 0; passes--) {
            pass();
        }
        slowest = 3;
        const uint32_t last = ticks_read();
        const uint64_t length = now - began;
        CHECK(length < (uint64_t)1 << 32, "within reach");
        CHECK(length - (last - first) < 60, "%llu cycles, counted %u", (unsigned long long)length, last - first);
    }
}

/* With interrupts masked for more than a round, one is lost: what a port must not do, and why none masks them for so
   long. */
static void test_masked_too_long(void) {
    slowest = 1;
    start_at(5);
    masked = true;
    const uint32_t first = ticks_read();
    now += 2ull * ROUND;
    const uint32_t last = ticks_read();
    masked = false;
    CHECK(last - first < ROUND + 20, "two rounds count as one");
}

void test_ticks(void) {
    test_ends();
    test_long_regions();
    test_masked_too_long();
}
