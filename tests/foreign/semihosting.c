/* A firmware that asks the host by semihosting (Arm, "Semihosting for AArch32 and AArch64"), one request for each byte
   that comes on UART0; for Arm's MPS2. */
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#if defined(BOARD_AN505)
#define UART0 0x50200000u
#else
#define UART0 0x40004000u
#endif
#ifndef OUTSIDE
#define OUTSIDE "/nowhere"
#endif

/* Numbers of the operations [6.1], modes of SYS_OPEN [7.14], reasons of an end [7.6]. */
enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITEC = 0x03,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_FLEN = 0x0C,
    SYS_SYSTEM = 0x12,
    SYS_EXIT = 0x18,
    SYS_EXIT_EXTENDED = 0x20,
    MODE_RB = 1,
    MODE_WB = 5,
    APPLICATION_EXIT = 0x20026,
    RUN_TIME_ERROR = 0x20023,
};

static int ask(int operation, const void *parameter) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static unsigned length(const char *text) {
    unsigned n = 0;
    while (text[n] != '\0') {
        n++;
    }
    return n;
}

static int open(const char *name, int mode) {
    const uintptr_t block[] = {(uintptr_t)name, (uintptr_t)mode, length(name)};
    return ask(SYS_OPEN, block);
}

static void say(const char *name, int value) {
    const char digits[] = {(char)(value < 0 ? '-' : '+'), (char)('0' + (value < 0 ? -value : value) % 10), '\n', '\0'};
    ask(SYS_WRITE0, name);
    ask(SYS_WRITE0, digits);
}

/* Reverse the bytes of input.bin in output.bin, and print how many could not be read or written. */
static void reverse(void) {
    static uint8_t bytes[256], reversed[256];
    const int in = open("input.bin", MODE_RB), out = open("output.bin", MODE_WB);
    const int size = ask(SYS_FLEN, &(const uintptr_t){(uintptr_t)in});
    const int unread = ask(SYS_READ, (const uintptr_t[]){(uintptr_t)in, (uintptr_t)bytes, (uintptr_t)size});
    for (int i = 0; i < size; i++) {
        reversed[i] = bytes[size - 1 - i];
    }
    const int unwritten = ask(SYS_WRITE, (const uintptr_t[]){(uintptr_t)out, (uintptr_t)reversed, (uintptr_t)size});
    ask(SYS_CLOSE, &(const uintptr_t){(uintptr_t)in});
    ask(SYS_CLOSE, &(const uintptr_t){(uintptr_t)out});
    say("unread ", unread);
    say("unwritten ", unwritten);
}

static void write_outside(const char *name) {
    const int handle = open(name, MODE_WB);
    say("outside ", handle < 0 ? -1 : 1);
}

static void uart(const char *text) {
    while (*text != '\0') {
        while (REGISTER(UART0 + 0x04u) & 1u) {
        }
        REGISTER(UART0) = (uint8_t)*text++;
    }
}

volatile uint32_t requests;

int main(void) {
    REGISTER(UART0 + 0x10u) = 20u; /* BAUDDIV */
    REGISTER(UART0 + 0x08u) = 3u;  /* TX and RX on */
    uart("ready\r\n");
    for (;;) {
        if ((REGISTER(UART0 + 0x04u) & 2u) == 0) {
            continue;
        }
        const char command = (char)REGISTER(UART0);
        requests++;
        if (command == 'r') {
            reverse();
        } else if (command == 'o') {
            write_outside(OUTSIDE);
        } else if (command == 'u') {
            write_outside("../beside");
        } else if (command == 's') {
            const char *shell = "echo bad > by-shell";
            say("system ", ask(SYS_SYSTEM, (const uintptr_t[]){(uintptr_t)shell, length(shell)}) == 0 ? 1 : -1);
        } else if (command == 1) { /* a byte that a terminal multiplexer would take */
            ask(SYS_WRITEC, "1");
            uart("\r\n");
        } else if (command == 'q') {
            ask(SYS_EXIT, (const void *)APPLICATION_EXIT);
        } else if (command == 'e') {
            ask(SYS_EXIT, (const void *)RUN_TIME_ERROR);
        } else if (command == '7') {
            ask(SYS_WRITE0, "bye\n");
            ask(SYS_EXIT_EXTENDED, (const uintptr_t[]){APPLICATION_EXIT, 7});
        }
    }
}

extern uint32_t _sbss[], _ebss[], __StackTop[];

__attribute__((noreturn)) void Reset_Handler(void) {
    for (uint32_t *to = _sbss; to < _ebss;) {
        *to++ = 0;
    }
    main();
    for (;;) {
    }
}

static void Fault_Handler(void) {
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[4] = {
    __StackTop, (void *)Reset_Handler, (void *)Fault_Handler, (void *)Fault_Handler};
