"""Instructions by class, as assembly of one test case each, with the cores that have them.

A case finds inputs in r0 to r5 and s0 to s7, the address of 32 bytes of data in r6, and flags in APSR. It may change
all of these, r7 to r12 and lr. What a core lacks must be undefined there (ARM DDI 0403E.e A5 and A7, ARM DDI 0419E A5).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Class:
    """Instructions that a core has together, or lacks together. `needs` is one word of `Core.has`."""

    name: str
    needs: str
    cases: tuple[str, ...]


def _each(pattern: str, *words: str) -> tuple[str, ...]:
    return tuple(pattern.format(word) for word in words)


CONDITIONS = (("eq", "ne"), ("cs", "cc"), ("mi", "pl"), ("vs", "vc"), ("hi", "ls"), ("ge", "lt"), ("gt", "le"))

V6M = (
    Class("shift, add, compare and move", "v6m", (
        *_each("{}s r0, r1, #7", "lsl", "lsr", "asr"), *_each("{}s r0, r1", "lsl", "lsr", "asr", "ror"),
        "adds r0, r1, r2", "subs r0, r1, r2", "adds r0, r1, #7", "subs r0, r1, #7", "adds r0, #255", "subs r0, #255",
        "movs r0, #128", "cmp r0, #128", "cmp r0, r1", "cmn r0, r1", "tst r0, r1", "rsbs r0, r1, #0",
        *_each("{}s r0, r1", "and", "eor", "adc", "sbc", "orr", "mul", "bic", "mvn"),
        "mov r8, r0\n add r1, r8\n cmp r1, r8", "mov r9, r2\n mov r0, r9", "add r0, sp, #16\n mov r1, sp\n subs r0, r0, r1",
        "sub sp, #8\n add sp, #8", "adr r0, 1f\n ldr r0, [r0]\n b 2f\n .balign 4\n1: .word 0x12345678\n2:",
    )),
    Class("extend and reverse", "v6m", _each("{} r0, r1", "sxth", "sxtb", "uxth", "uxtb", "rev", "rev16", "revsh")),
    Class("loads and stores", "v6m", (
        *_each("{} r0, [r6, #4]", "ldr", "ldrh", "ldrb", "str", "strh", "strb"),
        *_each("movs r1, #6\n {} r0, [r6, r1]", "ldrh", "ldrb", "ldrsh", "ldrsb", "strh", "strb"),
        "movs r1, #8\n ldr r0, [r6, r1]", "movs r1, #8\n str r0, [r6, r1]", "ldr r0, 1f\n b 2f\n .balign 4\n1: .word 77\n2:",
        "ldm r6!, {r0, r2, r4}\n subs r6, #12", "stm r6!, {r0, r2, r4}\n subs r6, #12", "ldm r6, {r1, r3, r6}\n ldr r6, =scratch",
        "push {r0-r3}\n pop {r1-r4}", "push {r0, lr}\n pop {r1, r2}", "sub sp, #8\n str r0, [sp, #4]\n ldr r1, [sp, #4]\n add sp, #8",
    )),
    Class("branches", "v6m", (
        *_each("b{} 1f\n movs r0, #1\n1:", *(condition for pair in CONDITIONS for condition in pair)),
        "b 1f\n movs r0, #1\n1:", "bl 1f\n movs r0, #1\n1:", "ldr r1, =after_blx\n blx r1\n movs r0, #1\n .thumb_func\nafter_blx:",
    )),
    Class("hints, barriers and special registers", "v6m", (
        "nop", "sev\n wfe", "yield", "dmb", "dsb", "isb", "mrs r0, primask", "cpsid i\n mrs r0, primask\n cpsie i",
        "movs r1, #1\n msr primask, r1\n mrs r0, primask\n cpsie i", "mrs r0, ipsr", "mrs r0, control\n movs r1, #1\n ands r0, r1",
        "msr apsr_nzcvq, r1", "udf #3", ".inst.w 0xF7F0A003 @ udf.w #3",
    )),
)  # fmt: skip

V7M = (
    Class("data processing with constants and shifts", "v7m", (
        *_each("{}.w r0, r1, #0x00AB00AB", "and", "bic", "orr", "orn", "eor", "add", "adc", "sbc", "sub", "rsb"),
        *_each("{}s.w r0, r1, #0x3FC00", "and", "bic", "orr", "orn", "eor", "add", "adc", "sbc", "sub", "rsb"),
        *_each("{}s.w r0, r1, r2, ror #5", "and", "bic", "orr", "orn", "eor", "add", "adc", "sbc", "sub", "rsb"),
        *_each("{}s.w r0, r1, r2, asr #31", "and", "eor", "add", "sub", "rsb"), "adds.w r0, r1, r2, rrx", "movs.w r0, r1, rrx",
        *_each("{}.w r0, #0xAB000000", "tst", "teq", "cmp", "cmn"), *_each("{}.w r0, r1, lsl #3", "tst", "teq", "cmp", "cmn"),
        *_each("{}s.w r0, r1, r2", "lsl", "lsr", "asr", "ror"), "mov.w r0, #0x55005500", "mvn.w r0, r1, lsr #3",
        "movw r0, #0xBEEF", "movt r0, #0xDEAD", "addw r0, r1, #4095", "subw r0, r1, #4095",
    )),
    Class("bit fields, bits and extension", "v7m", (
        "bfi r0, r1, #5, #9", "bfc r0, #5, #9", "sbfx r0, r1, #5, #9", "ubfx r0, r1, #5, #9", "sbfx r0, r1, #0, #32",
        "clz r0, r1", "rbit r0, r1", "rev.w r0, r1", "rev16.w r0, r1", "revsh.w r0, r1",
        *_each("{}.w r0, r1, ror #16", "sxth", "sxtb", "uxth", "uxtb"),
    )),
    Class("multiplication and division", "v7m", (
        "mul.w r0, r1, r2", "mla r0, r1, r2, r3", "mls r0, r1, r2, r3", "smull r0, r1, r2, r3", "umull r0, r1, r2, r3",
        "smlal r0, r1, r2, r3", "umlal r0, r1, r2, r3", "sdiv r0, r1, r2", "udiv r0, r1, r2",
        "movs r2, #0\n sdiv r0, r1, r2", "movs r2, #0\n udiv r0, r1, r2", "mov.w r1, #0x80000000\n mov.w r2, #-1\n sdiv r0, r1, r2",
    )),
    Class("saturation", "v7m", (
        "ssat r0, #8, r1", "ssat r0, #1, r1, lsl #3", "ssat r0, #32, r1", "ssat r0, #16, r1, asr #7", "usat r0, #8, r1",
        "usat r0, #0, r1", "usat r0, #31, r1, lsl #2", "usat r0, #16, r1, asr #9",
    )),
    Class("wide loads and stores", "v7m", (
        *_each("{}.w r0, [r6, #21]", "ldr", "ldrh", "ldrb", "ldrsh", "ldrsb", "str", "strh", "strb"),
        *_each("{} r0, [r6], #5\n sub.w r6, r6, #5", "ldr", "ldrh", "ldrb", "ldrsh", "ldrsb", "str", "strh", "strb"),
        *_each("add.w r6, r6, #8\n {} r0, [r6, #-3]!\n sub.w r6, r6, #5", "ldr", "ldrsh", "ldrb", "str", "strb"),
        *_each("movs r1, #3\n {}.w r0, [r6, r1, lsl #2]", "ldr", "ldrh", "ldrsb", "str", "strh"),
        "ldrd r0, r1, [r6, #8]", "strd r0, r1, [r6, #8]", "ldrd r0, r1, [r6], #8\n sub.w r6, r6, #8", "ldrt r0, [r6, #4]",
        "ldmdb.w r6, {r0, r1}\n nop", "add.w r6, r6, #16\n ldmdb r6!, {r0, r1, r4}\n sub.w r6, r6, #4",
        "add.w r6, r6, #16\n stmdb r6!, {r0, r1, r4}\n sub.w r6, r6, #4", "push.w {r0, r8}\n pop.w {r1, r9}", "pld [r6]",
    )),
    Class("exclusive accesses", "v7m", (
        "ldrex r0, [r6]\n strex r1, r2, [r6]", "ldrexb r0, [r6]\n strexb r1, r2, [r6]", "ldrexh r0, [r6]\n strexh r1, r2, [r6]",
        "clrex\n strex r1, r2, [r6]", "ldrex r0, [r6]\n clrex\n strex r1, r2, [r6]",
    )),
    Class("IT blocks and compact branches", "v7m", (
        *(f"ite {yes}\n mov{yes} r0, #1\n mov{no} r0, #2" for yes, no in CONDITIONS),
        "itte ge\n addge r0, #1\n movge r1, #5\n movlt r1, #7", "ittee vs\n addvs r0, r1\n mvnvs r2, r2\n subvc r0, r1\n rsbvc r2, r2, #0",
        "cbz r0, 1f\n movs r1, #1\n1:", "cbnz r0, 1f\n movs r1, #1\n1:", "bmi.w 1f\n movs r0, #1\n1:",
        "and r0, r0, #1\n tbb [pc, r0]\n1: .byte (2f - 1b) / 2, (3f - 1b) / 2\n2: movs r1, #1\n3:",
        "and r0, r0, #1\n tbh [pc, r0, lsl #1]\n1: .2byte (2f - 1b) / 2, (3f - 1b) / 2\n2: movs r1, #1\n3:",
    )),
    Class("masks of exceptions", "v7m", (
        "movs r1, #0x40\n msr basepri, r1\n mrs r0, basepri\n movs r1, #0\n msr basepri, r1", "cpsid f\n mrs r0, faultmask\n cpsie f",
    )),
)  # fmt: skip

DSP = (
    Class("packed arithmetic", "dsp", (
        *_each("{} r0, r1, r2", *(p + o for p in ("s", "u", "q", "uq", "sh", "uh") for o in ("add8", "sub8", "add16", "sub16", "asx", "sax"))),
        "sadd8 r0, r1, r2\n sel r3, r1, r2", "uadd16 r0, r1, r2\n sel r3, r1, r2", "usad8 r0, r1, r2", "usada8 r0, r1, r2, r3",
        "pkhbt r0, r1, r2, lsl #3", "pkhtb r0, r1, r2, asr #3", *_each("{} r0, r1, ror #8", "sxtb16", "uxtb16"),
        *_each("{} r0, r1, r2, ror #8", "sxtab16", "uxtab16", "sxtab", "uxtab", "sxtah", "uxtah"),
        "ssat16 r0, #5, r1", "usat16 r0, #5, r1", *_each("{} r0, r1, r2", "qadd", "qsub", "qdadd", "qdsub"),
    )),
    Class("packed multiplication", "dsp", (
        *_each("smul{} r0, r1, r2", "bb", "bt", "tb", "tt", "wb", "wt"), *_each("smla{} r0, r1, r2, r3", "bb", "bt", "tb", "tt", "wb", "wt"),
        *_each("smlal{} r0, r1, r2, r3", "bb", "bt", "tb", "tt", "d", "dx"), *_each("smlsl{} r0, r1, r2, r3", "d", "dx"),
        *_each("{} r0, r1, r2", "smuad", "smuadx", "smusd", "smusdx", "smmul", "smmulr"), "umaal r0, r1, r2, r3",
        *_each("{} r0, r1, r2, r3", "smlad", "smladx", "smlsd", "smlsdx", "smmla", "smmlar", "smmls", "smmlsr"),
    )),
)  # fmt: skip

FLOAT = (
    Class("single precision", "sp", (
        *_each("v{}.f32 s0, s1, s2", "add", "sub", "mul", "nmul", "div", "mla", "mls", "nmla", "nmls", "fma", "fms", "fnma", "fnms"),
        *_each("v{}.f32 s0, s1", "abs", "neg", "sqrt", "cmp", "cmpe", "mov"), "vcmp.f32 s1, #0", "vcmpe.f32 s1, #0\n vmrs APSR_nzcv, fpscr",
        "vmov.f32 s0, #-1.5", *_each("v{}", "cvt.s32.f32 s0, s1", "cvt.u32.f32 s0, s1", "cvtr.s32.f32 s0, s1", "cvtr.u32.f32 s0, s1"),
        "vcvt.f32.s32 s0, s1", "vcvt.f32.u32 s0, s1", "vcvt.s32.f32 s0, s0, #7", "vcvt.f32.s32 s0, s0, #7", "vcvt.u16.f32 s0, s0, #3",
        "vcvt.f32.s16 s0, s0, #3", "vcvtb.f32.f16 s0, s1", "vcvtt.f32.f16 s0, s1", "vcvtb.f16.f32 s0, s1", "vcvtt.f16.f32 s0, s1",
    )),
    Class("moves of floating-point registers", "sp", (
        "vmov s0, r1", "vmov r0, s1", "vmov s0, s1, r1, r2", "vmov r0, r1, s2, s3", "vmov d0, r1, r2", "vmov r0, r1, d1",
        "vmov.32 d0[1], r1", "vmov.32 r0, d1[0]", "vldr s0, [r6, #4]", "vstr s0, [r6, #4]", "vldr d0, [r6, #8]", "vstr d0, [r6, #8]",
        "vldm r6, {s0-s3}", "vstm r6, {s0-s3}", "vldm r6, {d0-d2}", "vpush {s0-s3}\n vpop {s4-s7}", "vpush {d0}\n vpop {d1}",
        "vmrs r0, fpscr", "mov.w r0, #0x00C00000\n vmsr fpscr, r0\n vadd.f32 s0, s1, s2", "mov.w r0, #0x01000000\n vmsr fpscr, r0\n vmul.f32 s0, s1, s2",
        "mov.w r0, #0x02000000\n vmsr fpscr, r0\n vadd.f32 s0, s1, s2",
    )),
    Class("single precision of FPv5", "fpv5", (
        *_each("vsel{}.f32 s0, s1, s2", "eq", "ge", "gt", "vs"), *_each("v{}.f32 s0, s1, s2", "maxnm", "minnm"),
        *_each("vrint{}.f32 s0, s1", "a", "n", "p", "m", "r", "x", "z"), *_each("vcvt{}.s32.f32 s0, s1", "a", "n", "p", "m"),
        *_each("vcvt{}.u32.f32 s0, s1", "a", "n", "p", "m"),
    )),
    Class("double precision", "dp", (
        *_each("v{}.f64 d0, d1, d2", "add", "sub", "mul", "nmul", "div", "mla", "mls", "nmla", "nmls", "fma", "fms", "fnma", "fnms"),
        *_each("v{}.f64 d0, d1", "abs", "neg", "sqrt", "cmp", "cmpe", "mov"), "vcmp.f64 d1, #0", "vmov.f64 d0, #-1.5",
        "vcvt.f64.f32 d0, s4", "vcvt.f32.f64 s0, d1", *_each("vcvt.{0}.f64 s0, d1\n vcvt.f64.{0} d2, s1", "s32", "u32"),
        "vcvtr.s32.f64 s0, d1", "vcvt.s32.f64 d0, d0, #7", "vcvt.f64.s32 d0, d0, #7", "vcvtb.f64.f16 d0, s4", "vcvtt.f16.f64 s0, d1",
        *_each("vsel{}.f64 d0, d1, d2", "eq", "ge", "gt", "vs"), *_each("v{}.f64 d0, d1, d2", "maxnm", "minnm"),
        *_each("vrint{}.f64 d0, d1", "a", "n", "p", "m", "r", "x", "z"), *_each("vcvt{}.s32.f64 s0, d1", "a", "n", "p", "m"),
    )),
)  # fmt: skip

# Armv8-M (ARM DDI 0553B.y, C2.4), as words, because an assembler of Armv7-M refuses their names.
V8M = (
    Class("load-acquire, store-release and test target", "v8m", (
        ".inst.w 0xE8D60FAF @ lda r0, [r6]", ".inst.w 0xE8C60FAF @ stl r0, [r6]", ".inst.w 0xE8D60FEF @ ldaex r0, [r6]",
        ".inst.w 0xE8C61FE0 @ stlex r0, r1, [r6]", ".inst.w 0xE846F000 @ tt r0, r6",
        ".inst.w 0xE8D60F8F @ ldab r0, [r6]", ".inst.w 0xE8D60F9F @ ldah r0, [r6]", ".inst.w 0xE8C60F8F @ stlb r0, [r6]",
        ".inst.w 0xE8C60F9F @ stlh r0, [r6]", ".inst.w 0xE8D60FEF @ ldaex r0, [r6]\n .inst.w 0xE8C62FE1 @ stlex r1, r2, [r6]",
        ".inst.w 0xE8D60FCF @ ldaexb r0, [r6]\n .inst.w 0xE8C62FC1 @ stlexb r1, r2, [r6]",
        ".inst.w 0xE8D60FDF @ ldaexh r0, [r6]\n .inst.w 0xE8C62FD1 @ stlexh r1, r2, [r6]",
        ".inst.w 0xE846F080 @ tta r0, r6", ".inst.w 0xE846F040 @ ttt r0, r6",
    )),
)  # fmt: skip

CLASSES = V6M + V7M + DSP + FLOAT + V8M
