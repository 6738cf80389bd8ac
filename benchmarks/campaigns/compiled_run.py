"""JAX's side of a scenario, with the modules that XLA compiles for it. What is imported here needs jax."""
import os
import pathlib
import sys

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "wire_bytes"), str(HERE.parents[1] / "tests" / "scenarios")]
import hlo_bytes
import jax
import jax_scenarios


class CompiledRun(jax_scenarios.Run):
    def __init__(self, document):
        super().__init__(document)
        self.modules = []  # as text, in the order of the jits

    def compiled(self, function, args, options):
        executable = jax.jit(function, **options).lower(*args).compile()
        self.modules.append(executable.as_text())
        return executable(*args)

    @property
    def wire_bytes(self):
        return sum(hlo_bytes.bytes_of_run(module, len(self.devices)) for module in self.modules)

    @property
    def has_unknown_turns(self):
        return any(hlo_bytes.has_unknown_turns(module) for module in self.modules)

    @property
    def collectives(self):
        """Of the last jit."""
        return hlo_bytes.collectives_of(self.modules[-1], len(self.devices)) if self.modules else []
