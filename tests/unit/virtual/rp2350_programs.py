"""Small programs for the virtual RP2350, as bytes with the assembly that they came from (Thumb, for Cortex-M33)."""

from __future__ import annotations

# From whatever state the boot ROM or a reset of the core left: clk_ref from the crystal, clk_sys from PLL_SYS at 150 MHz, ticks of 1 us
# for TIMER0, GP0 and GP1 to UART0 at 921600 baud, GP2 an output; then on at +0x140. It must stand at 0x10000200.
#     adr r0, first
#     bl apply
#     1: ldr r1, =0x40048004
#     ldr r1, [r1]
#     cmp r1, #0
#     bge 1b
#     adr r0, second
#     bl apply
#     2: ldr r1, =0x40050000
#     ldr r1, [r1]
#     cmp r1, #0
#     bge 2b
#     adr r0, third
#     bl apply
#     ldr r0, =0x40070000
#     ldr r1, =0x10000341
#     bx r1
#     apply: ldmia r0!, {r1, r2}
#     cbz r1, 3f
#     str r2, [r1]
#     b apply
#     3: bx lr
#     .align 2
#     first: .word 0x4001303C, 1
#     .word 0x40010030, 0
#     .word 0x40010034, 0x10000
#     .word 0x4004800C, 47
#     .word 0x40048000, 0xFABAA0
#     .word 0, 0
#     second: .word 0x40010030, 2
#     .word 0x40022000, 0x04004000
#     .word 0x40023000, 0x04004000
#     .word 0x40050008, 125
#     .word 0x40053004, 0x21
#     .word 0, 0
#     third: .word 0x4005000C, 0x52000
#     .word 0x40053004, 8
#     .word 0x4001003C, 0
#     .word 0x4001203C, 1
#     .word 0x40012048, 0x800
#     .word 0x4010801C, 12
#     .word 0x40108018, 1
#     .word 0x40028004, 2
#     .word 0x4002800C, 2
#     .word 0x40028014, 5
#     .word 0x40038004, 0x56
#     .word 0x40038008, 0x56
#     .word 0x4003800C, 0x56
#     .word 0xD0000038, 4
#     .word 0x40070024, 10
#     .word 0x40070028, 11
#     .word 0x4007002C, 0x70
#     .word 0x40070030, 0x301
#     .word 0, 0
START = bytes.fromhex(
    "0ca000f011f8494909680029fbda15a000f00af8464909680029fbda1da000f003f844484449084706c809b10a60fbe77047"
    "00bf3c30014001000000300001400000000034000140000001000c8004402f00000000800440a0bafa000000000000000000"
    "300001400200000000200240004000040030024000400004080005407d000000043005402100000000000000000000000c00"
    "05400020050004300540080000003c000140000000003c2001400100000048200140000800001c8010400c00000018801040"
    "0100000004800240020000000c800240020000001480024005000000048003405600000008800340560000000c8003405600"
    "0000380000d004000000240007400a000000280007400b0000002c0007407000000030000740010300000000000000000000"
    "04800440000005400000074041030010"
)

# Behind START: every byte back, by polling.
#     1: ldr r1, [r0, #0x18]
#     lsls r2, r1, #27
#     bmi 1b
#     ldr r3, [r0]
#     uxtb r3, r3
#     2: ldr r1, [r0, #0x18]
#     lsls r2, r1, #26
#     bmi 2b
#     str r3, [r0]
#     b 1b
ECHO = bytes.fromhex("8169ca06fcd40368dbb281698a06fcd40360f5e7")

# Behind START: GP2 high, 200 instructions, low, and once more by the XOR register.
#     ldr r0, =0xD0000000
#     movs r1, #4
#     str r1, [r0, #0x18]
#     movs r2, #100
#     1: subs r2, #1
#     bne 1b
#     str r1, [r0, #0x20]
#     str r1, [r0, #0x28]
#     str r1, [r0, #0x28]
#     wfi
MARKER = bytes.fromhex("4ff05040042181616422013afdd101628162816230bf")

# Behind START: four alarms of 250 us, counted by the handler (at +0x40) in r7; the thread sleeps.
#     ldr r0, =0x400B0000
#     movs r1, #1
#     str r1, [r0, #0x40]
#     ldr r2, =0xE000E100
#     str r1, [r2]
#     movs r7, #0
#     1: ldr r6, [r0, #0x28]
#     adds r6, #250
#     str r6, [r0, #0x10]
#     2: wfi
#     cmp r7, #4
#     beq 3f
#     ldr r4, [r0, #0x20]
#     cmp r4, #0
#     bne 2b
#     b 1b
#     3: wfi
#     .org 0x40
#     ldr r0, =0x400B0000
#     movs r1, #1
#     str r1, [r0, #0x3C]
#     adds r7, #1
#     dsb
#     bx lr
ALARM = bytes.fromhex(
    "134801210164134a11600027866afa36066130bf042f03d0046a002cf9d1f5e730bf00000000000000000000000000000000"
    "000000000000000000000000000003480121c1630137bff34f8f7047000000000b4000e100e0"
)

# r0 = 0x20000001 and r1 = 0x20000000, then 4 bytes under test; the HardFault handler (at +0x40) keeps the stacked pc in r6 and CFSR in r5.
#     mov.w r1, #0x20000000
#     adds r0, r1, #1
#     nop
#     nop
#     movs r3, #9
#     wfi
#     .org 0x40
#     movs r7, #7
#     ldr r6, [sp, #24]
#     ldr r5, =0xE000ED28
#     ldr r5, [r5]
#     1: wfi
#     b 1b
FAULT = bytes.fromhex(
    "4ff00051481c00bf00bf092330bf000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000727069e014d2d6830bffde728ed00e0"
)

# MSPLIM 256 bytes below the stack, then one word more than fits is pushed; the HardFault handler (at +0x40) keeps CFSR in r5.
#     mov r0, sp
#     sub r0, #256
#     msr msplim, r0
#     movs r2, #65
#     1: push {r2}
#     subs r2, #1
#     bne 1b
#     wfi
#     .org 0x40
#     ldr r5, =0xE000ED28
#     ldr r5, [r5]
#     mrs r4, msplim
#     1: wfi
#     b 1b
STACK_LIMIT = bytes.fromhex(
    "6846a0f5807080f30a88412204b4013afcd130bf000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000024d2d68eff30a8430bffde728ed00e0"
)

# In RAM: a sector is erased and a page programmed by the ROM, the cache flushed if r7 is not 0, and the routine in the boot RAM
# called; then r6 is the first word of the page in the cached window. r4 is the flash offset, r5 the page in RAM.
#     mov r8, r4
#     mov r9, r5
#     ldr r0, =0x4649
#     bl rom
#     ldr r0, =0x5845
#     bl rom
#     mov r0, r8
#     mov r1, #0x1000
#     mov r2, #0x10000
#     movs r3, #0xD8
#     mov r10, r0
#     ldr r0, =0x4552
#     bl named
#     ldr r0, =0x5052
#     mov r1, r9
#     mov r2, #256
#     bl named
#     cbz r7, 1f
#     ldr r0, =0x4346
#     bl rom
#     1: ldr r0, =0x400E0001
#     blx r0
#     mov r0, #0x10000000
#     add r0, r8
#     ldr r6, [r0]
#     2: wfi
#     b 2b
#     named: push {r1, r2, r3, lr}
#     bl find
#     mov r12, r0
#     pop {r1, r2, r3}
#     mov r0, r8
#     blx r12
#     pop {pc}
#     rom: push {r4, lr}
#     bl find
#     blx r0
#     pop {r4, pc}
#     find: movs r1, #4
#     movs r2, #0x16
#     ldrh r2, [r2]
#     bx r2
FLASH = bytes.fromhex(
    "a046a94644f2496000f02bf845f6450000f027f840464ff480514ff48032d823824644f2525000f014f845f2520049464ff4"
    "807200f00df81fb144f2463000f010f80c4880474ff080504044066830bffde70eb500f00af884460ebc4046e04700bd10b5"
    "00f002f8804710bd042116221288104701000e40"
)

# Behind START: the ROM's restart, with its arguments in the four words at +0x40.
#     movw r0, #0x4252
#     movs r1, #4
#     movs r2, #0x16
#     ldrh r2, [r2]
#     blx r2
#     mov r4, r0
#     adr r5, arguments
#     ldmia r5, {r0, r1, r2, r3}
#     blx r4
#     mov r6, r0
#     1: wfi
#     b 1b
#     .org 0x40
#     arguments: .word 0, 0, 0, 0
REBOOT = bytes.fromhex(
    "44f25220042116221288904704460ca595e80f00a047064630bffde700000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000"
)
