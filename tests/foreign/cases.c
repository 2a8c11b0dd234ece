/* A firmware that tests itself and prints what Unity prints, for each byte that it receives; for Arm's MPS2. */
#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

static void put(char c) {
    while (REGISTER(0x40004004u) & 1u) {
    }
    REGISTER(0x40004000u) = (uint8_t)c;
}

static void text(const char *s) {
    while (*s) {
        put(*s++);
    }
}

static void number(unsigned value) {
    if (value > 9) {
        number(value / 10);
    }
    put((char)('0' + value % 10));
}

static struct {
    unsigned tests, failures, ignored;
} count;

/* One case: what Unity prints when it ends. */
static void end_case(unsigned line, const char *name, const char *word, const char *why) {
    text("cases.c:");
    number(line);
    put(':');
    text(name);
    put(':');
    text(word);
    text(why);
    text("\r\n");
    count.tests++;
    count.failures += word[0] == 'F';
    count.ignored += word[0] == 'I';
}

static void summary(void) {
    text("\r\n-----------------------\r\n");
    number(count.tests);
    text(" Tests ");
    number(count.failures);
    text(" Failures ");
    number(count.ignored);
    text(" Ignored \r\n");
    text(count.failures != 0 ? "FAIL\r\n" : "OK\r\n");
    count.tests = count.failures = count.ignored = 0;
}

static float dot(const float *a, const float *b, unsigned n) {
    float sum = 0.0f;
    for (unsigned i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void test_dot(float wanted) {
    const float a[] = {1.0f, 2.0f}, b[] = {3.0f, 4.0f};
    const bool equal = dot(a, b, 2) == wanted;
    end_case(__LINE__, "test_dot", equal ? "PASS" : "FAIL", equal ? "" : ": Expected 12 Was 11");
}

int main(void) {
    REGISTER(0x40004010u) = 27u; /* BAUDDIV */
    REGISTER(0x40004008u) = 3u;  /* TX and RX on */
    text("ready\r\n");
    for (;;) {
        if ((REGISTER(0x40004004u) & 2u) == 0) {
            continue;
        }
        const uint8_t command = (uint8_t)REGISTER(0x40004000u);
        if (command == 'n') { /* no case */
            summary();
            continue;
        }
        test_dot(command == 'f' ? 12.0f : 11.0f);
        text("temperature 31\r\n"); /* another print */
        end_case(__LINE__, "test_later", "IGNORE", ": not yet");
        if (command == 'c') { /* hangs */
            text("cases.c:99:test_ha");
            for (;;) {
            }
        }
        if (command == 'l') { /* a case whose line is lost */
            count.tests++;
        }
        summary();
        text("bye\r\n");
    }
}

extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], __StackTop[];

__attribute__((noreturn)) void Reset_Handler(void) {
    REGISTER(0xE000ED88u) |= 0xFu << 20; /* CPACR: the FPU */
    for (uint32_t *from = _sidata, *to = _sdata; to < _edata;) {
        *to++ = *from++;
    }
    for (uint32_t *to = _sbss; to < _ebss;) {
        *to++ = 0;
    }
    main();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[2] = {__StackTop, (void *)Reset_Handler};
