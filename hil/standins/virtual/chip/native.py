"""Functions that Unicorn calls, written in LLVM's intermediate representation with llvmlite."""

from __future__ import annotations

from llvmlite import binding, ir

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
UC = I8.as_pointer()  # uc_engine *


class State:
    """An int64 array in the code of a builder: state[slot] emits a load, state[slot] = value a store."""

    def __init__(self, builder: ir.IRBuilder, pointer: ir.Value) -> None:
        self._builder, self._pointer = builder, pointer

    def __getitem__(self, slot: int | ir.Value) -> ir.Value:
        return self._builder.load(self._place(slot))

    def __setitem__(self, slot: int, value: int | ir.Value) -> None:
        self._builder.store(I64(value) if isinstance(value, int) else value, self._place(slot))

    def _place(self, slot: int | ir.Value) -> ir.Value:
        return self._builder.gep(self._pointer, [I64(slot) if isinstance(slot, int) else slot])


def compiled(module: ir.Module) -> binding.ExecutionEngine:
    """Compile a module; the code lives as long as the returned engine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    parsed = binding.parse_assembly(str(module))
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(parsed, passes)  # inlines what the hooks call, a million times a second
    engine = binding.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine
