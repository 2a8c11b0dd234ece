"""Registers of eDMA and DMAMUX of i.MX RT1062; narrow registers are combined into words (MIMXRT1062.xml)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

CHANNELS = 32


def _bits(name: str, access: str = "") -> str:
    return " ".join(f"{name}{i}:{i}{access}" for i in range(CHANNELS))


def _commands(*names: tuple[str, str]) -> str:
    """Return the fields of four byte registers: a channel, a bit for all channels, a bit for no operation."""
    return " ".join(
        f"{one}:{8 * i}-{8 * i + 4}/w {every}:{8 * i + 6}/w NOP{i}:{8 * i + 7}/w"
        for i, (one, every) in enumerate(names)
    )


def _priorities(first: int) -> str:
    """Return the fields of DCHPRI for channels first + 3 down to first: the bytes are in reverse order."""
    return " ".join(f"CHPRI{c}:{8 * i}-{8 * i + 3}/x GRPPRI{c}:{8 * i + 4}-{8 * i + 5}/r DPA{c}:{8 * i + 6}/x "
                    f"ECP{c}:{8 * i + 7}/x"
                    for i, c in enumerate(range(first + 3, first - 1, -1)))  # fmt: skip


def _descriptor(channel: int) -> tuple[Register, ...]:
    at, name = 0x1000 + 0x20 * channel, f"TCD{channel}_"
    return (
        Register(name + "SADDR", at + 0x00, "SADDR:0-31"),
        Register(name + "SOFF_ATTR", at + 0x04, "SOFF:0-15 DSIZE:16-18 DMOD:19-23 SSIZE:24-26 SMOD:27-31"),
        Register(name + "NBYTES", at + 0x08, "NBYTES:0-31"),
        Register(name + "SLAST", at + 0x0C, "SLAST:0-31"),
        Register(name + "DADDR", at + 0x10, "DADDR:0-31"),
        Register(name + "DOFF_CITER", at + 0x14, "DOFF:0-15 CITER:16-30 ELINK:31"),
        Register(name + "DLASTSGA", at + 0x18, "DLASTSGA:0-31"),
        Register(name + "CSR_BITER", at + 0x1C, "START:0 INTMAJOR:1 INTHALF:2 DREQ:3 ESG:4 MAJORELINK:5 ACTIVE:6/r "
                 "DONE:7 MAJORLINKCH:8-12 BWC:14-15 BITER:16-30 ELINK:31"),
    )  # fmt: skip


REGISTERS = (
    Register("CR", 0x00, "EDBG:1/x ERCA:2/x ERGA:3/x HOE:4/x HALT:5/x CLM:6/x EMLM:7/x GRP0PRI:8/x GRP1PRI:10/x "
             "ECX:16/x CX:17/x ACTIVE:31/r", 0x400),
    Register("ES", 0x04, "DBE:0/r SBE:1/r SGE:2/r NCE:3/r DOE:4/r DAE:5/r SOE:6/r SAE:7/r ERRCHN:8-12/r CPE:14/r "
             "GPE:15/r ECX:16/r VLD:31/r"),
    Register("ERQ", 0x0C, _bits("ERQ")),
    Register("EEI", 0x14, _bits("EEI", "/x")),
    Register("CEEI_SEEI_CERQ_SERQ", 0x18,
             _commands(("CEEI", "CAEE"), ("SEEI", "SAEE"), ("CERQ", "CAER"), ("SERQ", "SAER"))),
    Register("CDNE_SSRT_CERR_CINT", 0x1C,
             _commands(("CDNE", "CADN"), ("SSRT", "SAST"), ("CERR", "CAEI"), ("CINT", "CAIR"))),
    Register("INT", 0x24, _bits("INT", "/c")),
    Register("ERR", 0x2C, _bits("ERR", "/c")),
    Register("HRS", 0x34, _bits("HRS", "/r")),
    Register("EARS", 0x44, _bits("EDREQ_", "/x")),
    *(Register(f"DCHPRI{c + 3}_{c}", 0x100 + c, _priorities(c), sum(c + 3 - i << 8 * i for i in range(4)))
      for c in range(0, CHANNELS, 4)),
    *(register for channel in range(CHANNELS) for register in _descriptor(channel)),
)  # fmt: skip

# The descriptors are a memory: their contents are undefined after power-on.
UNDEFINED = {
    register.name: 0xA5A5A5A5 & ~register.reserved for register in REGISTERS if register.name.startswith("TCD")
}

MUX_REGISTERS = tuple(Register(f"CHCFG{n}", 4 * n, "SOURCE:0-6 A_ON:29/x TRIG:30/x ENBL:31") for n in range(CHANNELS))
