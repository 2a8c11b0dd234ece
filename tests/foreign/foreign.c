/* A firmware that knows nothing of the rig: it prints text, has a small network of float, and obeys one-byte commands. */
#include <stdbool.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

#if defined(BOARD_MPS2) || defined(BOARD_AN505)
#if defined(BOARD_AN505)
#define UART0 0x50200000u   /* by its Secure alias */
#define NOTHING 0x60000000u /* there is no memory here */
#else
#define UART0 0x40004000u
#define NOTHING 0x50000000u
#endif
static void uart_start(void) {
    REGISTER(UART0 + 0x10u) = 27u; /* BAUDDIV */
    REGISTER(UART0 + 0x08u) = 3u;  /* TX and RX on */
}
static void put(char c) {
    while (REGISTER(UART0 + 0x04u) & 1u) {
    }
    REGISTER(UART0) = (uint8_t)c;
}
static int get(void) {
    return (REGISTER(UART0 + 0x04u) & 2u) ? (int)(uint8_t)REGISTER(UART0) : -1;
}
#elif defined(BOARD_STM32F746)
#define RCC 0x40023800u
#define GPIOA 0x40020000u
#define GPIOB 0x40020400u
#define USART1 0x40011000u
#define NOTHING 0x50000000u
static void pin(uint32_t port, uint32_t number) {
    volatile uint32_t *afr = &REGISTER(port + 0x20u + 4u * (number / 8u));
    *afr = (*afr & ~(15u << 4u * (number % 8u))) | 7u << 4u * (number % 8u);
    REGISTER(port) = (REGISTER(port) & ~(3u << 2u * number)) | 2u << 2u * number;
}
static void uart_start(void) {
    REGISTER(RCC + 0x30u) |= 3u; /* GPIOA, GPIOB */
    (void)REGISTER(RCC + 0x30u);
    pin(GPIOA, 9u);
    pin(GPIOB, 7u);
    REGISTER(RCC + 0x44u) |= 1u << 4;
    (void)REGISTER(RCC + 0x44u);
    REGISTER(USART1 + 0x0Cu) = 17u; /* 16 MHz / 921600 */
    REGISTER(USART1) = 13u;         /* UE, RE, TE */
}
static void put(char c) {
    while (!(REGISTER(USART1 + 0x1Cu) & 1u << 7)) {
    }
    REGISTER(USART1 + 0x28u) = (uint8_t)c;
}
static int get(void) {
    return (REGISTER(USART1 + 0x1Cu) & 1u << 5) ? (int)(uint8_t)REGISTER(USART1 + 0x24u) : -1;
}
static void marker(bool high) { /* PI2 */
    REGISTER(RCC + 0x30u) |= 1u << 8;
    (void)REGISTER(RCC + 0x30u);
    REGISTER(0x40022000u) = (REGISTER(0x40022000u) & ~(3u << 4)) | 1u << 4;
    REGISTER(0x40022018u) = high ? 1u << 2 : 1u << 18;
}
static void sleep(void) { /* half a second of SysTick at 16 MHz */
    REGISTER(0xE000E014u) = 8000000u - 1u;
    REGISTER(0xE000E018u) = 0u;
    REGISTER(0xE000E010u) = 7u;
    __asm__ volatile("wfi");
    REGISTER(0xE000E010u) = 0u;
}
#define HAS_MARKER
#endif

void Tick_Handler(void) {
}

enum { ROWS = 4, COLUMNS = 3 };
enum kind { LINEAR = 7, RELU };

typedef struct tensor {
    uint32_t dims;
    float *data;
} tensor_t;

typedef struct layer {
    enum kind kind;
    tensor_t *weights;
    struct {
        int16_t rows, columns;
    }; /* unnamed: its members are the layer's */
    union {
        float rate;
        uint32_t bits;
    } u;
    unsigned frozen : 1;
    struct layer *next;
} layer_t;

float fc1_weights[ROWS][COLUMNS];
static tensor_t fc1 = {2, &fc1_weights[0][0]};
layer_t relu = {RELU, 0, {0, 0}, {0.0f}, 0, 0};
layer_t linear = {LINEAR, &fc1, {ROWS, COLUMNS}, {0.5f}, 1, &relu};
layer_t *network = &linear;
int8_t quantised[6] = {-3, -2, -1, 0, 1, 127};
volatile double momentum = 0.1;
volatile bool trained;
uint8_t arena[64];
uint32_t steps;
volatile bool faults_again; /* in the handler of a fault */
float dropped = 1.0f;       /* nothing uses it, and the linker drops it */

static void text(const char *s) {
    while (*s) {
        put(*s++);
    }
}

static void hexadecimal(uint32_t value) {
    text("0x");
    for (int place = 28; place >= 0; place -= 4) {
        put("0123456789abcdef"[value >> place & 15u]);
    }
}

static void decimal(uint32_t value) {
    if (value > 9) {
        decimal(value / 10);
    }
    put((char)('0' + value % 10));
}

static void sum(float *total, const float *values, int n) {
    float own = 0.0f;
    for (int i = 0; i < n; i++) {
        own += values[i];
    }
    *total = own;
}

__attribute__((noinline)) int train_step(int batch) {
    static uint32_t calls;
    volatile uint8_t scratch[200];
    for (unsigned i = 0; i < sizeof scratch; i++) {
        scratch[i] = (uint8_t)i;
    }
    calls++;
    for (int row = 0; row < ROWS; row++) {
        for (int column = 0; column < COLUMNS; column++) {
            fc1_weights[row][column] += network->u.rate * (float)(row + batch);
        }
    }
    steps++;
    trained = true;
    arena[steps % sizeof arena] = (uint8_t)quantised[steps % sizeof quantised];
    return (int)calls + scratch[0];
}

__attribute__((noinline)) static void spin_for_ever(void) {
    for (;;) {
        momentum = momentum + 1.0;
    }
}

__attribute__((noinline)) static void train_badly(void) {
    spin_for_ever();
}

__attribute__((noinline)) static void divide(volatile uint32_t *at) {
    *at = 1u;
}

__attribute__((noinline)) static void train_undefined(void) {
    __asm__ volatile("udf #0");
}

#if defined(BOARD_AN505)
/* SAU_CTRL.ALLNS: memory is as the IDAU has it, and the call leads to Non-secure memory without a BLXNS. */
__attribute__((noinline)) static void train_insecurely(void) {
    REGISTER(0xE000EDD0u) = 2u;
    ((void (*)(void))1u)();
}
#endif

__attribute__((noinline)) static int recurse(int n) {
    volatile int own[64];
    own[0] = n;
    return n ? recurse(n + 1) + own[0] : 0;
}

static void report(uint32_t step) {
    float loss;
    sum(&loss, &fc1_weights[0][0], ROWS * COLUMNS);
    union {
        float f;
        uint32_t u;
    } bits = {.f = loss};
    text("step ");
    decimal(step);
    text(" loss ");
    hexadecimal(bits.u);
    text("\r\n");
}

__attribute__((noinline)) static int uart_getc(void) {
    int c;
    while ((c = get()) < 0) {
    }
    return c;
}

int main(void) {
    uart_start();
    text("ready 12 parameters\r\n");
    for (;;) {
        const int command = uart_getc();
        if (command == 't') {
            train_step((int)steps + 1);
            report(steps);
        } else if (command == 'l') { /* many steps, without waiting */
            for (;;) {
                train_step(1);
            }
        } else if (command == 'h') {
            train_badly();
        } else if (command == 'f') {
            divide((volatile uint32_t *)NOTHING);
        } else if (command == 'u') {
            train_undefined();
#if defined(BOARD_AN505)
        } else if (command == 's') {
            train_insecurely();
#endif
#ifdef HAS_MARKER
        } else if (command == 'e') {
            sleep();
            marker(true);
            for (int i = 0; i < 2000; i++) {
                train_step(1);
            }
            marker(false);
            sleep();
            text("measured\r\n");
#endif
        } else if (command == 'w') {
            for (;;) {
                __asm__ volatile("wfi");
            }
        } else if (command == 'c') {
            text("step 9 lo");
        } else if (command == 'k') {
            faults_again = true;
            train_undefined();
        } else if (command == 'o') {
            steps = (uint32_t)recurse((int)steps + 1);
        } else if (command == 'r') {
            REGISTER(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR.SYSRESETREQ */
        } else if (command == 'b') {
            for (int i = 0; i < 40; i++) {
                put((char)(0x80 + 3 * i % 0x20));
            }
        }
    }
}

extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], __StackTop[];

__attribute__((noreturn)) void Reset_Handler(void) {
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

__attribute__((noinline)) static void stop(void) {
    for (;;) {
        __asm__ volatile("nop");
    }
}

void Fault_Handler(void) { /* it has a frame of its own, as handlers have that call something */
    if (faults_again) {
        __asm__ volatile("udf #1");
    }
    stop();
    __asm__ volatile("");
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    __StackTop,
    (void *)Reset_Handler,
    (void *)Fault_Handler,
    (void *)Fault_Handler,
    (void *)Fault_Handler,
    (void *)Fault_Handler,
    (void *)Fault_Handler,
    [15] = (void *)Tick_Handler,
};
