/* A firmware that asks the host by semihosting (Arm, "Semihosting for AArch32 and AArch64"), one request for each word
   that a probe writes into `command`; it needs no port. On an STM32F746 it also prints on USART1. */
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

/* Numbers of the operations [6.1], modes of SYS_OPEN [7.14], reasons of an end [7.6]. */
enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITEC = 0x03,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_READC = 0x07,
    SYS_ISERROR = 0x08,
    SYS_ISTTY = 0x09,
    SYS_SEEK = 0x0A,
    SYS_FLEN = 0x0C,
    SYS_TMPNAM = 0x0D,
    SYS_REMOVE = 0x0E,
    SYS_RENAME = 0x0F,
    SYS_SYSTEM = 0x12,
    SYS_ERRNO = 0x13,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT = 0x18,
    SYS_EXIT_EXTENDED = 0x20,
    SYS_ELAPSED = 0x30,
    SYS_TICKFREQ = 0x31,
    UNKNOWN = 0x7F,
    MODE_R = 0,
    MODE_RB = 1,
    MODE_W = 4,
    MODE_WB = 5,
    MODE_A = 8,
    APPLICATION_EXIT = 0x20026,
    RUN_TIME_ERROR = 0x20023,
};

volatile uint32_t command, done, served;
volatile int32_t results[16];
char text[9000];
uint8_t bytes[2000];

__attribute__((noinline)) static int ask(int operation, const void *parameter) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    served++;
    return r0;
}

#define ASK(operation, ...) ask(operation, (const uintptr_t[]){__VA_ARGS__})
#define NAME(name) (uintptr_t)(name), sizeof(name) - 1

static int open(const char *name, int mode) {
    unsigned length = 0;
    while (name[length] != '\0') {
        length++;
    }
    return ASK(SYS_OPEN, (uintptr_t)name, (uintptr_t)mode, length);
}

static void files(void) {
    const int in = open("input.bin", MODE_RB), out = open("output.bin", MODE_WB);
    results[0] = ASK(SYS_FLEN, (uintptr_t)in);
    results[1] = ASK(SYS_READ, (uintptr_t)in, (uintptr_t)bytes, sizeof bytes); /* more than there is */
    results[2] = ASK(SYS_SEEK, (uintptr_t)in, 1);
    results[3] = ASK(SYS_READ, (uintptr_t)in, (uintptr_t)(bytes + 1), 2);
    results[4] = ASK(SYS_WRITE, (uintptr_t)out, (uintptr_t)bytes, 200);
    results[5] = ASK(SYS_CLOSE, (uintptr_t)in) + ASK(SYS_CLOSE, (uintptr_t)out);
    results[6] = ASK(SYS_WRITE, (uintptr_t)out, (uintptr_t)bytes, 5); /* it is closed */
    results[7] = ASK(SYS_ISTTY, (uintptr_t)open(":tt", MODE_W));
    results[8] = ASK(SYS_RENAME, NAME("output.bin"), NAME("renamed.bin"));
    results[9] = ASK(SYS_REMOVE, NAME("input.bin"));
    results[10] = ASK(SYS_REMOVE, NAME("input.bin"));
    results[11] = ask(SYS_ERRNO, 0);
}

static void outside(void) {
    results[0] = open("../beside", MODE_WB);
    results[1] = open("/etc/passwd", MODE_R);
    results[2] = open("link", MODE_R);
    results[3] = open("linked/file", MODE_WB);
    results[4] = ASK(SYS_REMOVE, NAME("../victim"));
    results[5] = ASK(SYS_RENAME, NAME("../victim"), NAME("mine"));
    results[6] = ASK(SYS_SYSTEM, NAME("echo bad > by-shell"));
    results[7] = open("a/../../beside", MODE_WB);
    results[8] = open("~/beside", MODE_WB);
    results[9] = ASK(SYS_OPEN, (uintptr_t)"x", MODE_WB, 0x7FFFFFFF);
    results[10] = ASK(SYS_WRITE, 1, (uintptr_t)bytes, 0xFFFFFFFFu);
    results[11] = ASK(SYS_OPEN, 0xF0000000u, MODE_WB, 4); /* no memory */
}

static void other(void) {
    const int features = open(":semihosting-features", MODE_R);
    results[0] = ASK(SYS_READ, (uintptr_t)features, (uintptr_t)bytes, 5);
    results[1] = ASK(SYS_ISERROR, (uintptr_t)-5);
    results[2] = ASK(SYS_ISERROR, 5);
    results[3] = ask(SYS_TICKFREQ, 0);
    results[4] = ask(SYS_ELAPSED, text);
    results[5] = ASK(SYS_TMPNAM, (uintptr_t)(text + 8), 9, 100);
    uintptr_t line[] = {(uintptr_t)(text + 100), 100};
    results[6] = ask(SYS_GET_CMDLINE, line);
    results[7] = (int)line[1];
    results[8] = ask(UNKNOWN, 0);
}

/* 100,000 bytes, 2,000 in each SYS_WRITE, then a string of 5,000. */
static void print_much(void) {
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i % 50 == 49 ? '\n' : 'a' + i % 26);
    }
    for (int i = 0; i < 50; i++) {
        ASK(SYS_WRITE, 1, (uintptr_t)bytes, sizeof bytes);
    }
    for (unsigned i = 0; i < 5000; i++) {
        text[i] = (char)('A' + i % 26);
    }
    text[5000] = '\0';
    ask(SYS_WRITE0, text);
    ask(SYS_WRITE0, "end\n");
}

__attribute__((noinline)) int train_step(int step) {
    ask(SYS_WRITEC, "s");
    return 2 * step;
}

static void uart(const char *said) {
#ifdef BOARD_STM32F746
    REGISTER(0x40023830u) |= 1u; /* clocks of GPIOA and USART1; PA9 has AF7 */
    REGISTER(0x40023844u) |= 1u << 4;
    (void)REGISTER(0x40023844u);
    REGISTER(0x40020024u) = (REGISTER(0x40020024u) & ~(15u << 4)) | 7u << 4;
    REGISTER(0x40020000u) = (REGISTER(0x40020000u) & ~(3u << 18)) | 2u << 18;
    REGISTER(0x4001100Cu) = 17u; /* 16 MHz / 921600 */
    REGISTER(0x40011000u) = 9u;  /* UE, TE */
    while (*said != '\0') {
        while (!(REGISTER(0x4001101Cu) & 1u << 7)) {
        }
        REGISTER(0x40011028u) = (uint8_t)*said++;
    }
    while (!(REGISTER(0x4001101Cu) & 1u << 6)) {
    }
#else
    (void)said;
#endif
}

int main(void) {
    ask(SYS_WRITE0, "ready\n");
    for (;;) {
        const uint32_t asked = command;
        if (asked == 0) {
            continue;
        }
        command = 0;
        switch (asked) {
        case 'f': files(); break;
        case 'o': outside(); break;
        case 't': other(); break;
        case 'm': print_much(); break;
        case 'n':
            for (int i = 1; i <= 300; i++) {
                train_step(i);
            }
            break;
        case 'u':
            uart("of the port\r\n");
            ask(SYS_WRITE0, "of the console\n");
            break;
        case 'i': ask(SYS_READC, 0); break;
        case 'q': ask(SYS_EXIT, (const void *)APPLICATION_EXIT); break;
        case 'e': ask(SYS_EXIT, (const void *)RUN_TIME_ERROR); break;
        case '3':
            ASK(SYS_WRITE, (uintptr_t)open(":tt", MODE_A), NAME("wrong\n"));
            ASK(SYS_EXIT_EXTENDED, APPLICATION_EXIT, 3);
            break;
        case 'b':
            ask(SYS_WRITE0, "bye\n");
            ASK(SYS_EXIT_EXTENDED, APPLICATION_EXIT, 0x1FF);
            break;
        case 'x': __asm__ volatile("udf #0"); break;
        default: break;
        }
        done++;
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

__attribute__((section(".vectors"), used)) static void *const vectors[8] = {
    __StackTop,    (void *)Reset_Handler, (void *)Fault_Handler, (void *)Fault_Handler,
    Fault_Handler, Fault_Handler,         Fault_Handler,         0};
