"""Compiles kernels with NVRTC, NVIDIA's compiler as a library."""

import ctypes
import glob
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from blastoff.lab.cuda import search
from blastoff.lab.failures import DeviceFailed

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "nvrtcVersion": (POINTER(c_int), POINTER(c_int)),
    "nvrtcGetNumSupportedArchs": (POINTER(c_int),),
    "nvrtcGetSupportedArchs": (POINTER(c_int),),
    "nvrtcCreateProgram": (POINTER(c_void_p), c_char_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_char_p)),
    "nvrtcDestroyProgram": (POINTER(c_void_p),),
    "nvrtcCompileProgram": (c_void_p, c_int, POINTER(c_char_p)),
    "nvrtcGetPTXSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetPTX": (c_void_p, c_char_p),
    "nvrtcGetCUBINSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetCUBIN": (c_void_p, c_char_p),
    "nvrtcGetProgramLogSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetProgramLog": (c_void_p, c_char_p),
}


def load(path: str) -> Any:
    """Opens one NVRTC and declares its functions. Opens libnvrtc-builtins first, which the dynamic linker might not find beside it."""
    if os.path.isabs(path):
        for part in sorted(glob.glob(f"{os.path.dirname(path)}/libnvrtc-builtins.so.*")):
            if ".alt" not in os.path.basename(part):
                ctypes.CDLL(part)
    functions = ctypes.CDLL(path)
    for name, types in SIGNATURES.items():
        function = getattr(functions, name)
        function.argtypes, function.restype = types, c_int
    return functions


class Compiler:
    """NVRTC of this machine."""

    def __init__(self, cuda_path: str = "") -> None:
        mistakes = []
        for path in search.compilers(cuda_path):
            try:
                self._functions, self.path = load(path), path
                break
            except (OSError, AttributeError) as error:
                mistakes.append(str(error))
        else:
            raise DeviceFailed(
                "NVRTC (libnvrtc.so.13 or .12), which compiles the kernels, was not found; "
                f"pip install nvidia-cuda-nvrtc, or --cuda-path DIR ({mistakes[0]})"
            )
        major, minor = c_int(), c_int()
        self._check("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"NVRTC {major.value}.{minor.value}"

    def _check(self, name: str, *arguments: Any) -> None:
        status = getattr(self._functions, name)(*arguments)
        if status:
            raise DeviceFailed(f"{self.path}: {name} failed with error {status}")

    def architectures(self) -> list[int]:
        """The compute capabilities for which it compiles: 90 stands for 9.0."""
        count = c_int()
        self._check("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        found = (c_int * count.value)()
        self._check("nvrtcGetSupportedArchs", found)
        return sorted(found)

    def compile(self, source: str, file: str, capability: int) -> bytes:
        """Machine code for a device of this compute capability, or PTX, which the driver compiles, if this NVRTC does not know the capability."""
        known = self.architectures()
        older = [architecture for architecture in known if architecture <= capability]
        if not older:
            raise DeviceFailed(f"{self.version} compiles for compute capability {known[0] / 10} and newer; this device has {capability / 10}")
        exact = capability in known
        target = f"--gpu-architecture={'sm' if exact else 'compute'}_{older[-1]}"
        return self.translate(source, file, [target], "CUBIN" if exact else "PTX")

    def translate(self, source: str, file: str, options: list[str], kind: str) -> bytes:
        """What NVRTC makes of a source with these options. `kind`: "CUBIN" or "PTX"."""
        program = c_void_p()
        self._check("nvrtcCreateProgram", ctypes.byref(program), source.encode(), file.encode(), 0, None, None)
        try:
            return self._build(program, [*options, "--std=c++17"], file, kind)
        finally:
            self._check("nvrtcDestroyProgram", ctypes.byref(program))

    def _build(self, program: c_void_p, options: list[str], file: str, kind: str) -> bytes:
        words = (c_char_p * len(options))(*[option.encode() for option in options])
        if self._functions.nvrtcCompileProgram(program, len(options), words):
            log = self._text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
            raise DeviceFailed(f"{file} does not compile: {' | '.join(log.split(chr(10)))}")
        return self._text(program, f"nvrtcGet{kind}Size", f"nvrtcGet{kind}")

    def _text(self, program: c_void_p, ask_size: str, ask: str) -> bytes:
        size = c_size_t()
        self._check(ask_size, program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(ask, program, buffer)
        return buffer.raw
