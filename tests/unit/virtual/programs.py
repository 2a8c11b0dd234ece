"""Small programs for the tests, as bytes with the assembly that they came from (Thumb, for Cortex-M7)."""

from __future__ import annotations

# Ten turns: 2 + 10 * 3 instructions, then WFI.
#     movs r0, #0
#     movs r1, #10
#     1:  adds r0, #1
#     subs r1, #1
#     bne 1b
#     wfi
LOOP = bytes.fromhex("00200a2101300139fcd130bf")

# Skipped instructions count: 2 + 1 (IT) + 3 + 1, two of the three are not executed, one is 32 bits wide.
#     movs r0, #1
#     cmp r0, #0
#     itte eq
#     moveq r1, #2
#     addeq.w r1, r1, #0x100
#     movne r1, #7
#     wfi
IT_BLOCK = bytes.fromhex("0120002806bf022101f58071072130bf")

# SVC and back: the handler (at +0x20) doubles the stacked r0.
#     movs r0, #21
#     svc #0
#     adds r0, #1
#     wfi
#     .org 0x20
#     ldr r1, [sp]
#     adds r1, r1, r1
#     str r1, [sp]
#     bx lr
SVC = bytes.fromhex("152000df013030bf0000000000000000000000000000000000000000000000000099491800917047")

# An undefined instruction; the HardFault handler (at +0x20) reads CFSR and steps over it.
#     movs r0, #1
#     udf #0
#     adds r0, #1
#     wfi
#     .org 0x20
#     ldr r2, =0xE000ED28
#     ldr r5, [r2]
#     ldr r1, [sp, #24]
#     adds r1, #2
#     str r1, [sp, #24]
#     bx lr
UDF = bytes.fromhex("012000de013030bf000000000000000000000000000000000000000000000000024a1568069902310691704728ed00e0")

# SysTick every 1000 core cycles, counted by the handler (at +0x40) in r7; the thread sleeps.
#     ldr r0, =0xE000E010
#     ldr r1, =999
#     str r1, [r0, #4]
#     movs r1, #0
#     str r1, [r0, #8]
#     movs r7, #0
#     movs r1, #7
#     str r1, [r0]
#     1:  wfi
#     cmp r7, #5
#     bne 1b
#     movs r1, #0
#     str r1, [r0]
#     wfi
#     .org 0x40
#     adds r7, #1
#     bx lr
SYSTICK = bytes.fromhex(
    "104840f2e73141600021816000270721016030bf052ffcd10021016030bf0000000000000000000000000000000000000000"
    "00000000000000000000000000000137704710e000e0"
)

# Floating point on, s0 = 2.0; SVC, whose handler (at +0x40) clears s0 and FPSCR; s0 must survive.
#     ldr r0, =0xE000ED88
#     ldr r1, =0x00F00000
#     str r1, [r0]
#     dsb
#     isb
#     vmov.f32 s0, #2.0
#     mov r6, sp
#     svc #0
#     vadd.f32 s1, s0, s0
#     vmov r2, s1
#     wfi
#     .org 0x40
#     mov r5, sp
#     mov r4, lr
#     movs r0, #0
#     vmov s0, r0
#     bx lr
FLOAT_FRAME = bytes.fromhex(
    "12484ff470010160bff34f8fbff36f8fb0ee000a6e4600df70ee000a10ee902a30bf00000000000000000000000000000000"
    "00000000000000000000000000006d467446002000ee100a704788ed00e0"
)

# Floating point on; SVC between a comparison and the use of its flags, and the handler (at +0x40) compares too.
#     ldr r0, =0xE000ED88
#     ldr r1, =0x00F00000
#     str r1, [r0]
#     dsb
#     isb
#     vmov.f32 s0, #1.0
#     vmov.f32 s1, #2.0
#     vcmp.f32 s0, s1
#     svc #0
#     vmrs APSR_nzcv, fpscr
#     ite mi
#     movmi r2, #1
#     movpl r2, #2
#     vmrs r3, fpscr
#     wfi
#     .org 0x40
#     vmov.f32 s2, #1.0
#     vcmp.f32 s2, s2
#     bx lr
FLOAT_FLAGS = bytes.fromhex(
    "12484ff470010160bff34f8fbff36f8fb7ee000af0ee000ab4ee600a00dff1ee10fa4cbf01220222f1ee103a30bf00000000"
    "0000000000000000000000000000b7ee001ab4ee411a7047000088ed00e0"
)

# A floating-point instruction with CPACR at reset: UsageFault NOCP as HardFault (handler at +0x20).
#     movs r0, #1
#     movs r1, #2
#     vadd.f32 s0, s0, s0
#     wfi
#     .org 0x20
#     ldr r2, =0xE000ED28
#     ldr r5, [r2]
#     ldr r6, [sp, #24]
#     wfi
NO_FLOAT = bytes.fromhex("0120022130ee000a30bf00000000000000000000000000000000000000000000014a1568069e30bf28ed00e0")

# Thread mode on PSP, SVC and back; the handler (at +0x40) keeps its own SP in r5.
#     ldr r0, =0x20001000
#     msr psp, r0
#     movs r1, #2
#     msr control, r1
#     isb
#     mov r6, sp
#     svc #0
#     mov r7, sp
#     wfi
#     .org 0x40
#     mov r5, sp
#     mov r4, lr
#     mrs r3, psp
#     bx lr
PROCESS_STACK = bytes.fromhex(
    "124880f30988022181f31488bff36f8f6e4600df6f4630bf0000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000006d467446eff309837047000000100020"
)

# PendSV pends while PRIMASK is set: WFI does not sleep, the handler (at +0x40) runs behind CPSIE.
#     cpsid i
#     ldr r0, =0xE000ED04
#     ldr r1, =0x10000000
#     str r1, [r0]
#     movs r7, #0
#     wfi
#     mov r3, r7
#     cpsie i
#     mov r4, r7
#     wfi
#     .org 0x40
#     movs r7, #1
#     bx lr
MASKED = bytes.fromhex(
    "72b610484ff080510160002730bf3b4662b63c4630bf00000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000127704704ed00e0"
)

# PendSV (priority 0xF0) pends SysTick (priority 0x10) from its handler: SysTick pre-empts. r7 collects the order.
#     ldr r0, =0xE000ED20
#     ldr r1, =0x10F00000
#     str r1, [r0]
#     ldr r0, =0xE000ED04
#     movs r7, #0
#     ldr r1, =0x10000000
#     str r1, [r0]
#     b 1f
#     1:  lsls r7, #4
#     adds r7, #4
#     3:  wfi
#     b 3b
#     .org 0x40
#     lsls r7, #4
#     adds r7, #1
#     ldr r1, =0x04000000
#     str r1, [r0]
#     b 2f
#     2:  lsls r7, #4
#     adds r7, #3
#     bx lr
#     .org 0x80
#     lsls r7, #4
#     adds r7, #2
#     bx lr
NESTED = bytes.fromhex(
    "214822490160224800274ff080510160ffe73f01043730bffde7000000000000000000000000000000000000000000000000"
    "00000000000000000000000000003f0101374ff080610160ffe73f0103377047000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000003f0102377047000020ed00e00000f01004ed00e0"
)

# PA9, PA10 to AF7, USART1 with FIFO at 64 MHz / 69 (927536 baud), then every byte back, by polling.
#     ldr r0, =0x58024400
#     movs r1, #1
#     str.w r1, [r0, #0x140]
#     movs r1, #0x10
#     str.w r1, [r0, #0x150]
#     ldr r1, [r0, #0x150]
#     ldr r0, =0x58020000
#     ldr r1, =0xABEBFFFF
#     str r1, [r0]
#     ldr r1, =0x770
#     str r1, [r0, #0x24]
#     ldr r0, =0x40011000
#     movs r1, #69
#     str r1, [r0, #0xC]
#     ldr r1, =0x2000000D
#     str r1, [r0]
#     1:  ldr r1, [r0, #0x1C]
#     lsls r2, r1, #26
#     bpl 1b
#     ldr r3, [r0, #0x24]
#     2:  ldr r1, [r0, #0x1C]
#     lsls r2, r1, #24
#     bpl 2b
#     str r3, [r0, #0x28]
#     b 1b
ECHO = bytes.fromhex(
    "0e480121c0f840111021c0f85011d0f850110b480b4901604ff4ee6141620a484521c16009490160c1698a06fcd5436ac169"
    "0a06fcd58362f6e700000044025800000258ffffebab001001400d000020"
)

# One store of r1 to the address in r0, then WFI.
#     str r1, [r0]
#     wfi
STORE = bytes.fromhex("016030bf")

# One load from the address in r0 to r1, then WFI.
#     nop
#     ldr r1, [r0]
#     wfi
LOAD = bytes.fromhex("00bf016830bf")

# From RAM: unlock bank 1, set PG, store r4-r7 at r0, poll SR1 until not busy, clear PG.
#     ldr r1, =0x52002000
#     ldr r2, =0x45670123
#     str r2, [r1, #4]
#     ldr r2, =0xCDEF89AB
#     str r2, [r1, #4]
#     movs r2, #2
#     str r2, [r1, #12]
#     stmia r0!, {r4, r5, r6, r7}
#     1:  ldr r3, [r1, #16]
#     lsls r2, r3, #29
#     bne 1b
#     movs r2, #0
#     str r2, [r1, #12]
#     wfi
PROGRAM = bytes.fromhex("0649074a4a60074a4a600222ca60f0c00b695a07fcd10022ca6030bf0020005223016745ab89efcd")

# Loads the word at r0 to r1, with FAULTMASK to r2, and without it again to r3.
#     ldr r1, [r0]
#     cpsid f
#     ldr r2, [r0]
#     cpsie f
#     ldr r3, [r0]
#     wfi
FAULTMASKED = bytes.fromhex("016871b6026861b6036830bf")
