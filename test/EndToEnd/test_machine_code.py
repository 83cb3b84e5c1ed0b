"""Machine code for GPUs beside PTX: what ptxas says of every kernel of the models, and what becomes of its file.

tools/environment.sh installs ptxas and nvdisasm (nvidia-cuda-nvcc, nvidia-cuda-nvdisasm) into the environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import compare
import numpy as np
import pytest
from conftest import NAMES, Step, Steps, compiled, for_all_gpus, refused, run, succeed
from safetensors.numpy import load_file, save_file
from test_cuda import DRIVER, same_bits

TOOLS = Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13/bin"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")

# What the GPUs of all these architectures have: registers of a multiprocessor, and bytes that a block may share without
# asking for more. Registers are given to warps, 8 for each thread at a time.
REGISTERS, SHARED = 65536, 48 * 1024
# ptxas spills a few registers of kernels that have far from all that a thread may have: at most these bytes so far.
STACK, SPILLED = 24, 48
# A launch of unequal kernels has the registers of the largest block of threads among them.
JOINT_STACK, JOINT_SPILLED = 64, 256


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the emulated driver."""
    for name in [name for name in os.environ if name.startswith(("TENON_EMULATED_CUDA_", "TENON_CUDA_"))]:
        monkeypatch.delenv(name)


@dataclass(frozen=True)
class Kernel:
    """A line of `tenon inspect --kernels`."""

    name: str
    schedule: str
    blocks: int
    threads: int
    registers: int
    shared: int
    stack: int
    spilled: int

    def faults(self) -> list[str]:
        """What keeps it from running, or from running well."""
        registers = -(-self.registers // 8) * 8 * -(-self.threads // 32) * 32
        found = [f"needs {registers} registers" if registers > REGISTERS else ""]
        found += [f"shares {self.shared} bytes" if self.shared > SHARED else ""]
        if self.schedule != "parts":
            most, spilled = (STACK, SPILLED) if self.schedule != "joint" else (JOINT_STACK, JOINT_SPILLED)
            found += [f"{self.stack} bytes of stack" if self.stack > most else ""]
            found += [f"{self.spilled} bytes spilled" if self.spilled > spilled else ""]
        return [each for each in found if each]


def kernels(file: Path) -> dict[str, list[Kernel]]:
    """What a file says of its kernels, by architecture."""
    found: dict[str, list[Kernel]] = {}
    for line in succeed("inspect", file, "--kernels").splitlines():
        if begin := re.fullmatch(r"kernels for (sm_\d+)", line):
            found[begin[1]] = rows = []
        elif found and (row := re.fullmatch(r"((?:kernel|joint)_\d+(?:_then)*) +(\S+)" + r" +(\d+)" * 6 + r"  .*", line)):
            rows.append(Kernel(row[1], row[2], *map(int, row.groups()[2:])))
    return found


def text_of(step: Step) -> Path:
    """The text that is compiled."""
    return step.located if compare.needs_locations(step.info) else step.text


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_fits(models: Steps, name: str) -> None:
    """The assembler takes every kernel of a model for every architecture, with no warning but of spills, which are few."""
    made = for_all_gpus(models[name])
    codegen = made.stages["codegen"]
    assert codegen["assembler"].startswith("13."), codegen
    tables = kernels(made.output)
    assert list(tables) == list(ARCHITECTURES)
    for architecture, table in tables.items():
        assert len({kernel.name for kernel in table}) == codegen["distinct_kernels"]
        faults = {f"{kernel.name} ({kernel.schedule})": kernel.faults() for kernel in table if kernel.faults()}
        assert not faults, (architecture, faults)
        assert any(kernel.schedule != "parts" for kernel in table)
    # Every warning but of spills is one too many.
    spilling = sum(kernel.stack + kernel.spilled > 0 for table in tables.values() for kernel in table)
    assert spilling or not codegen["warnings"], codegen["warnings"]
    assert all("spill" in each or "ocal memory" in each or "tack" in each for each in codegen["warnings"]), codegen["warnings"]


def accesses(text: str, begin: str, wide: str) -> dict[str, int]:
    """How many wide accesses of global memory the part of a text about each kernel has."""
    parts = re.split(begin, text)[1:]
    return {name: len(re.findall(wide, part)) for name, part in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("name", ["01_mlp", "07_llama_bf16"])
def test_accesses_stay_wide(steps: Steps, name: str, tmp_path: Path) -> None:
    """Where the PTX of a kernel accesses 16 bytes at once, so does its machine code."""
    file = for_all_gpus(steps[name]).output
    said = succeed("inspect", file, f"--write-code={tmp_path}")
    assert said.count("wrote ") == 2 * len(ARCHITECTURES)
    for architecture in ARCHITECTURES:
        ptx = (tmp_path / f"{architecture}.ptx").read_text()
        command = [TOOLS / "nvdisasm", "-c", tmp_path / f"{architecture}.cubin"]
        sass = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        asked = accesses(ptx, r"\.entry (\w+)\(", r"(?:ld|st)\.global\S*\.(?:v4\.[bf]32|v2\.[bf]64)\b")
        made = accesses(sass, r"\n\.text\.(\w+):", r"\b(?:LDG|STG)\S*\.(?:128|256)\b")
        assert asked.keys() == made.keys() and sum(asked.values()) > 0
        narrowed = {kernel: (count, made[kernel]) for kernel, count in asked.items() if count and not made[kernel]}
        assert not narrowed, (architecture, narrowed)


def test_inspect_shows_the_code_of_a_kernel(steps: Steps) -> None:
    """The table, and the text of one kernel."""
    file = compiled(text_of(steps["01_mlp"]), "--target=sm_90", "--no-libraries").output
    said = succeed("inspect", file)
    assert re.search(r"code for sm_90: \d+ bytes of PTX, driver 525 or later \(CUDA 12.0\); \d+ bytes of machine code by ptxas 13\.", said)
    table = kernels(file)["sm_90"]
    product = next(kernel for kernel in table if kernel.schedule == "product")
    assert product.threads == 256 and product.shared > 1024 and product.registers > 16
    shown = succeed("inspect", file, f"--ptx={product.name}")
    assert f".entry {product.name}(" in shown and shown.count(".entry") == 1 and ".reqntid 256" in shown and shown.rstrip().endswith("}")
    assert "the file has no PTX of a kernel 'kernel_999'; --kernels lists its kernels" in refused(1, "inspect", file, "--ptx=kernel_999")
    assert "compile the module first" in refused(2, "inspect", text_of(steps["01_mlp"]), "--ptx=kernel_0")
    cpu = compiled(text_of(steps["01_mlp"])).output
    assert "the file has no code for GPUs" in refused(1, "inspect", cpu, "--write-code=nowhere")


def test_without_machine_code(steps: Steps, tmp_path: Path) -> None:
    """The file says so; all else in it and what it computes are the same."""
    step = steps["01_mlp"]
    whole = compiled(text_of(step), "--target=sm_90")
    plain = compiled(text_of(step), "--target=sm_90", "--no-cubins")
    assert "no machine code, the driver compiles the PTX" in succeed("inspect", plain.output)
    assert plain.stages["codegen"]["machine_code_bytes"] == 0 < whole.stages["codegen"]["machine_code_bytes"]
    assert re.search(r"kernel_0 +\S+ +\d+ +\d+ +- +- +- +-  ", succeed("inspect", plain.output, "--kernels"))
    succeed("verify", whole.output)
    results = []
    for made in (whole, plain):
        path = tmp_path / "results.safetensors"
        outcome = run("run", made.output, f"--inputs={step.inputs}", "--steps=2", f"--outputs={path}", f"--cuda-driver={DRIVER}")
        # The emulated driver takes no machine code, of which its users need not know.
        assert outcome.code == 0 and "note:" not in outcome.errors and "emulated CUDA" not in outcome.errors, outcome
        results.append(load_file(path))
    same_bits(*results)


def shell(path: Path, script: str) -> Path:
    """An executable script."""
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


def test_assemblers(steps: Steps, tmp_path: Path) -> None:
    """One may be named; what is none, or refuses the code, is an error that says what to do."""
    text, out = text_of(steps["01_mlp"]), tmp_path / "out.tenon"
    expected = compiled(text, "--target=sm_90").output.read_bytes()
    succeed("compile", text, "-o", out, "--target=sm_90", f"--ptxas={TOOLS / 'ptxas'}", "--kernel-cache=none")
    assert out.read_bytes() == expected
    said = refused(1, "compile", text, "-o", out, "--target=sm_90", "--ptxas=/nowhere/ptxas")
    assert "/nowhere/ptxas" in said and "leave machine code out with --no-cubins" in said
    other = shell(tmp_path / "other", "echo hello")
    said = refused(1, "compile", text, "-o", out, "--target=sm_90", f"--ptxas={other}")
    assert f"'{other}' is not NVIDIA's assembler ptxas" in said
    old = shell(
        tmp_path / "old",
        'if [ "$1" = --version ]; then echo "ptxas: NVIDIA (R) Ptx optimizing assembler"\n'
        'echo "Cuda compilation tools, release 11.0, V11.0.1"; else echo "Unsupported .version 8.0"; exit 255; fi\n',
    )
    said = refused(1, "compile", text, "-o", out, "--target=sm_90", f"--ptxas={old}")
    assert "the code for sm_90 cannot be assembled" in said and "Unsupported .version 8.0" in said
    said = refused(2, "compile", text, "-o", out, "--ptxas=ptxas")
    assert "--ptxas is for GPUs; name one, such as --target=sm_90" in said
    assert "pass one of them" in refused(2, "compile", text, "-o", out, "--target=sm_90", "--ptxas=x", "--no-cubins")


def refusing_assembler(folder: Path) -> Path:
    """One that says its version and refuses all texts."""
    version = subprocess.run([TOOLS / "ptxas", "--version"], check=True, capture_output=True, text=True).stdout
    (folder / "version").write_text(version)
    return shell(folder / "never", f'if [ "$1" = --version ]; then cat {folder / "version"}; else exit 255; fi\n')


def test_kernel_cache(steps: Steps, tmp_path: Path) -> None:
    """Machine code from the cache is what the assembler makes; damage and races cost time alone."""
    text, out, cache = text_of(steps["01_mlp"]), tmp_path / "out.tenon", tmp_path / "cache"
    made = compiled(text, "--target=sm_80,sm_90", "--kernel-cache=none")
    expected = made.output.read_bytes()
    command = ("compile", text, "-o", out, "--target=sm_80,sm_90", f"--kernel-cache={cache}")
    succeed(*command)
    files, texts = sorted(cache.glob("*.machine-code")), sorted(cache.glob("*.ptx"))
    assert out.read_bytes() == expected and len(files) == 2
    assert len(texts) >= 2 * made.stages["codegen"]["distinct_kernels"] and len(list(cache.iterdir())) == len(files + texts)
    # The second time nothing is assembled: this one refuses all texts.
    never = refusing_assembler(tmp_path)
    succeed(*command, f"--ptxas={never}")
    assert out.read_bytes() == expected
    # What is damaged is made again.
    content = files[0].read_bytes()
    files[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(1, *command, f"--ptxas={never}")
    files[1].write_bytes(b"")
    texts[0].write_bytes(texts[0].read_bytes().replace(b"add", b"sub"))
    texts[1].write_bytes(texts[1].read_bytes()[:100])
    texts[2].write_bytes(texts[3].read_bytes())
    succeed(*command)
    assert out.read_bytes() == expected
    assert all(file.stat().st_size > 100 for file in files + texts)
    succeed(*command, f"--ptxas={never}")
    # A folder that cannot be one is no error.
    (tmp_path / "file").write_text("")
    succeed(*command[:-1], f"--kernel-cache={tmp_path / 'file'}")
    assert out.read_bytes() == expected


def test_other_constants_have_the_same_machine_code(steps: Steps, tmp_path: Path) -> None:
    """A step with another momentum has known kernels, is not assembled again, and is what it is without a cache."""
    text, out, cache, changed = text_of(steps["01_mlp"]), tmp_path / "out.tenon", tmp_path / "cache", tmp_path / "changed.mlir"
    momentum = "dense<0.899999976>"
    assert momentum in text.read_text()
    changed.write_text(text.read_text().replace(momentum, "dense<0.850000024>"))
    expected = compiled(changed, "--target=sm_80,sm_90", "--kernel-cache=none").output.read_bytes()
    options = ("-o", out, "--target=sm_80,sm_90", f"--kernel-cache={cache}")
    succeed("compile", text, *options)
    before, kept = out.read_bytes(), {file.name for file in cache.iterdir()}
    succeed("compile", changed, *options, f"--ptxas={refusing_assembler(tmp_path)}")
    assert out.read_bytes() == expected != before
    assert {file.name for file in cache.iterdir()} == kept
    # The machine code of both has its own number, once for each kernel that uses it.
    numbers = [np.float32(each).tobytes() for each in (0.899999976, 0.850000024)]
    for file, own, other in ((before, *numbers), (expected, *reversed(numbers))):
        (tmp_path / "file.tenon").write_bytes(file)
        succeed("inspect", tmp_path / "file.tenon", f"--write-code={tmp_path / 'code'}")
        for name in ("sm_80", "sm_90"):
            cubin = (tmp_path / "code" / f"{name}.cubin").read_bytes()
            assert cubin.count(own) > 0 and cubin.count(other) == 0, name


def test_writers_of_one_cache(steps: Steps, tmp_path: Path) -> None:
    """Several compilations at once, with one empty cache."""
    text, cache = text_of(steps["01_mlp"]), tmp_path / "cache"
    expected = compiled(text, "--target=sm_80,sm_90", "--kernel-cache=none").output.read_bytes()
    tool = DRIVER.parents[1] / "bin" / "tenon"
    options = ["--target=sm_80,sm_90", f"--kernel-cache={cache}", "--threads=1"]
    running = [subprocess.Popen([tool, "compile", text, "-o", tmp_path / f"{i}.tenon", *options]) for i in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert all((tmp_path / f"{i}.tenon").read_bytes() == expected for i in range(4))
    assert len(list(cache.glob("*.machine-code"))) == 2


def test_edited_text_keeps_its_machine_code(steps: Steps, tmp_path: Path) -> None:
    """Object form holds machine code, and a file made from it has the same bytes."""
    text, form, out = text_of(steps["01_mlp"]), tmp_path / "codegen.mlir", tmp_path / "out.tenon"
    succeed("compile", text, "--compile-to=codegen", "-o", form, "--target=sm_90")
    assert "exec.resources = array<i64: " in form.read_text() and 'exec.schedules = ["' in form.read_text()
    succeed("compile", form, "--compile-from=codegen", "-o", out, "--target=sm_90")
    assert out.read_bytes() == compiled(text, "--target=sm_90").output.read_bytes()
    said = refused(2, "compile", form, "--compile-from=codegen", "-o", out, "--target=sm_90", "--no-cubins")
    assert "--no-cubins is read by the stage codegen" in said


def test_step_of_copies_alone(tmp_path: Path) -> None:
    """Where there are no kernels there is nothing to assemble."""
    text, out = tmp_path / "step.mlir", tmp_path / "out.tenon"
    text.write_text("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n")
    succeed("compile", text, "-o", out, "--target=sm_90")
    assert "no machine code" in succeed("inspect", out)
    save_file({"arg0": np.arange(8, dtype=np.float32)}, tmp_path / "inputs.safetensors")
    succeed("run", out, f"--inputs={tmp_path / 'inputs.safetensors'}", f"--cuda-driver={DRIVER}")
