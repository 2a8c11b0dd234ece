"""Small programs for the virtual RP2040, as bytes with the assembly that they came from (Thumb, for Cortex-M0+)."""

from __future__ import annotations

# Second stage: the window reads with command 03h at clk_sys / 4, then the vector table at 0x10000100.
#     ldr r3, =0x18000000
#     movs r0, #0
#     str r0, [r3, #8]
#     movs r0, #4
#     str r0, [r3, #0x14]
#     ldr r0, =0x001F0300
#     str r0, [r3]
#     ldr r1, =0x180000F4
#     ldr r0, =0x03000218
#     str r0, [r1]
#     movs r0, #1
#     str r0, [r3, #8]
#     ldr r0, =0x10000100
#     ldr r1, =0xE000ED08
#     str r0, [r1]
#     ldmia r0!, {r1, r2}
#     msr msp, r1
#     bx r2
BOOT2 = bytes.fromhex(
    "094b0020986004205861084818600849084808600120986007480849086006c881f30888104700000000001800031f00f400"
    "0018180200030001001008ed00e0"
)

# Second stage: the QE bit if it is not set, then continuous quad reads (EBh) at clk_sys / 2.
#     ldr r3, =0x18000000
#     movs r5, #0
#     str r5, [r3, #8]
#     movs r0, #2
#     str r0, [r3, #0x14]
#     ldr r0, =0x00070000
#     str r0, [r3]
#     movs r6, #1
#     str r6, [r3, #8]
#     movs r0, #0x35
#     bl status
#     movs r2, #2
#     tst r0, r2
#     bne quad
#     movs r0, #0x06
#     str r0, [r3, #0x60]
#     bl idle
#     ldr r0, [r3, #0x60]
#     movs r0, #0x01
#     str r0, [r3, #0x60]
#     str r5, [r3, #0x60]
#     str r2, [r3, #0x60]
#     bl idle
#     ldr r0, [r3, #0x60]
#     ldr r0, [r3, #0x60]
#     ldr r0, [r3, #0x60]
#     1:  movs r0, #0x05
#     bl status
#     tst r0, r6
#     bne 1b
#     quad:
#     str r5, [r3, #8]
#     ldr r0, =0x005F0300
#     str r0, [r3]
#     ldr r1, =0x180000F4
#     ldr r0, =0x00002221
#     str r0, [r1]
#     str r6, [r3, #8]
#     movs r0, #0xEB
#     str r0, [r3, #0x60]
#     movs r0, #0xA0
#     str r0, [r3, #0x60]
#     bl idle
#     str r5, [r3, #8]
#     ldr r0, =0xA0002022
#     str r0, [r1]
#     str r6, [r3, #8]
#     ldr r0, =0x10000100
#     ldr r1, =0xE000ED08
#     str r0, [r1]
#     ldmia r0!, {r1, r2}
#     msr msp, r1
#     bx r2
#     status:
#     mov r7, lr
#     str r0, [r3, #0x60]
#     str r0, [r3, #0x60]
#     bl idle
#     ldr r0, [r3, #0x60]
#     ldr r0, [r3, #0x60]
#     bx r7
#     idle:
#     ldr r4, [r3, #0x28]
#     lsrs r4, r4, #1
#     bcs idle
#     bx lr
BOOT2_QUAD = bytes.fromhex(
    "224b00259d60022058612148186001269e60352000f02ef80222104212d10620186600f02ff8186e012018661d661a6600f0"
    "28f8186e186e186e052000f01af83042fad19d60134818601349134808609e60eb201866a020186600f013f89d600f480860"
    "9e600f480f49086006c881f30888104777461866186600f003f8186e186e38479c6a6408fcd2704700000018000007000003"
    "5f00f400001821220000222000a00001001008ed00e0"
)

# From whatever state the boot ROM or a reset of the core left: clk_ref from the crystal, clk_sys from PLL_SYS at 125 MHz,
# ticks of 1 us, GP0 and GP1 to UART0 at 921600 baud, GP2 an output; then on at +0x140. It must stand at 0x10000200.
#     adr r0, first
#     bl apply
#     1:  ldr r1, =0x40024004
#     ldr r1, [r1]
#     cmp r1, #0
#     bge 1b
#     adr r0, second
#     bl apply
#     2:  ldr r1, =0x40028000
#     ldr r1, [r1]
#     cmp r1, #0
#     bge 2b
#     adr r0, third
#     bl apply
#     ldr r0, =0x40034000
#     ldr r1, =0x10000341
#     bx r1
#     apply:
#     ldmia r0!, {r1, r2}
#     cmp r1, #0
#     beq 3f
#     str r2, [r1]
#     b apply
#     3:  bx lr
#     .align 2
#     first:
#     .word 0x4000B03C, 1
#     .word 0x4000B030, 3
#     .word 0x40024000, 0xFABAA0
#     .word 0, 0
#     second:
#     .word 0x40008030, 2
#     .word 0x4000E000, 0x401120
#     .word 0x4000F000, 0x601120
#     .word 0x40028000, 1
#     .word 0x40028008, 125
#     .word 0x4002800C, 0x62000
#     .word 0x4002B004, 0x21
#     .word 0, 0
#     third:
#     .word 0x4002B004, 8
#     .word 0x40008040, 0x100
#     .word 0x4000803C, 0
#     .word 0x4000803C, 1
#     .word 0x4000B048, 0x800
#     .word 0x40008048, 0x800
#     .word 0x4005802C, 0x20C
#     .word 0x40014004, 2
#     .word 0x4001400C, 2
#     .word 0x40014014, 5
#     .word 0xD0000024, 4
#     .word 0x40034024, 8
#     .word 0x40034028, 31
#     .word 0x4003402C, 0x70
#     .word 0x40034030, 0x301
#     .word 0, 0
START = bytes.fromhex(
    "0ca000f011f8434909680029fbda11a000f00af8404909680029fbda1da000f003f83e483e49084706c8002901d00a60fae7"
    "70473cb000400100000030b000400300000000400240a0bafa000000000000000000308000400200000000e0004020114000"
    "00f00040201160000080024001000000088002407d0000000c8002400020060004b0024021000000000000000000000004b0"
    "02400800000040800040000100003c800040000000003c8000400100000048b000400008000048800040000800002c800540"
    "0c02000004400140020000000c400140020000001440014005000000240000d0040000002440034008000000284003401f00"
    "00002c400340700000003040034001030000000000000000000004400240008002400040034041030010"
)

# Behind START: every byte back, by polling.
#     1:  ldr r1, [r0, #0x18]
#     lsls r2, r1, #27
#     bmi 1b
#     ldr r3, [r0]
#     uxtb r3, r3
#     2:  ldr r1, [r0, #0x18]
#     lsls r2, r1, #26
#     bmi 2b
#     str r3, [r0]
#     b 1b
ECHO = bytes.fromhex("8169ca06fcd40368dbb281698a06fcd40360f5e7")

# Behind START: GP2 high, 200 instructions, low, and once more by the XOR register.
#     ldr r0, =0xD0000000
#     movs r1, #4
#     str r1, [r0, #0x14]
#     movs r2, #100
#     1:  subs r2, #1
#     bne 1b
#     str r1, [r0, #0x18]
#     str r1, [r0, #0x1C]
#     str r1, [r0, #0x1C]
#     wfi
MARKER = bytes.fromhex("0448042141616422013afdd18161c161c16130bf000000d0")

# Behind START: four alarms of 250 us, counted by the handler (at +0x40) in r7; the thread sleeps.
#     ldr r0, =0x40054000
#     movs r1, #1
#     str r1, [r0, #0x38]
#     ldr r2, =0xE000E100
#     str r1, [r2]
#     movs r7, #0
#     1:  ldr r6, [r0, #0x28]
#     movs r4, #250
#     adds r6, r6, r4
#     str r6, [r0, #0x10]
#     2:  wfi
#     cmp r7, #4
#     beq 3f
#     ldr r4, [r0, #0x20]
#     cmp r4, #0
#     bne 2b
#     b 1b
#     3:  wfi
#     .org 0x40
#     ldr r0, =0x40054000
#     movs r1, #1
#     str r1, [r0, #0x34]
#     adds r7, #1
#     bx lr
ALARM = bytes.fromhex(
    "124801218163124a11600027866afa243619066130bf042f03d0046a002cf9d1f4e730bf0000000000000000000000000000"
    "00000000000000000000000000000248012141630137704700000040054000e100e0"
)

# r0 = 0x20000001, then the two halfwords under test; the HardFault handler (at +0x40) keeps the stacked pc in r6.
#     movs r0, #1
#     lsls r0, r0, #29
#     adds r0, #1
#     .hword 0x46C0, 0x46C0
#     movs r3, #9
#     wfi
#     .org 0x40
#     movs r7, #7
#     ldr r6, [sp, #24]
#     1:  wfi
#     b 1b
FAULT = bytes.fromhex(
    "012040070130c046c046092330bf000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000727069e30bffde7"
)

# Behind START: five periods of 1000 ticks with the settings in r5, counted by the handler (at +0x40) in r7.
#     movs r5, #7
#     ldr r0, =0xE000E010
#     ldr r1, =999
#     str r1, [r0, #4]
#     movs r1, #0
#     str r1, [r0, #8]
#     movs r7, #0
#     str r5, [r0]
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
    "0725104810494160002181600027056030bf052ffcd10021016030bf00000000000000000000000000000000000000000000"
    "00000000000000000000000000000137704710e000e0e7030000"
)

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
