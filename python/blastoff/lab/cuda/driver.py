"""The entry points of libcuda.so.1 that the laboratory uses, with the types of cuda.h (CUDA 12 and 13)."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from blastoff.lab.failures import Cannot, DeviceFailed

ADDRESS = c_uint64  # CUdeviceptr
HANDLE = c_void_p  # CUcontext, CUmodule, CUfunction, CUstream, CUevent

ATTACH_GLOBAL = 1
FOR_DEVICES = 1 | 2  # CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
ON_DEVICE, ON_HOST = 1, 2  # CUmemLocationType
CPU = -1  # CU_DEVICE_CPU
PREFER, ACCESSED_BY = 3, 5  # CUmem_advise

LOST = (4, 214, 220, 226, 700, 702, 709, 714, 715, 716, 717, 718, 719, 999)
"""Errors after which the context computes nothing more: memory and link errors, faults of kernels, a destroyed context, unknown ones."""

ATTRIBUTES = {
    "clock_khz": 13,
    "multiprocessors": 16,
    "integrated": 18,
    "compute_major": 75,
    "compute_minor": 76,
    "managed_memory": 83,
    "pageable_memory_access": 88,
    "concurrent_managed_access": 89,
    "host_page_tables": 100,
    "direct_managed_access_from_host": 101,
}


class Location(Structure):
    """CUmemLocation: passed by value."""

    _fields_ = (("type", c_int), ("id", c_int))


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(HANDLE), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (HANDLE,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuMemAlloc_v2": (POINTER(ADDRESS), c_size_t),
    "cuMemAllocManaged": (POINTER(ADDRESS), c_size_t, c_uint),
    "cuMemFree_v2": (ADDRESS,),
    "cuMemHostAlloc": (POINTER(c_void_p), c_size_t, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemcpyHtoD_v2": (ADDRESS, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, ADDRESS, c_size_t),
    "cuMemcpyDtoDAsync_v2": (ADDRESS, ADDRESS, c_size_t, HANDLE),
    "cuModuleLoadData": (POINTER(HANDLE), c_void_p),
    "cuModuleGetFunction": (POINTER(HANDLE), HANDLE, c_char_p),
    "cuModuleUnload": (HANDLE,),
    "cuLaunchKernel": (HANDLE, *[c_uint] * 6, c_uint, HANDLE, POINTER(c_void_p), POINTER(c_void_p)),
    "cuEventCreate": (POINTER(HANDLE), c_uint),
    "cuEventRecord": (HANDLE, HANDLE),
    "cuEventSynchronize": (HANDLE,),
    "cuEventElapsedTime": (POINTER(c_float), HANDLE, HANDLE),
    "cuEventDestroy_v2": (HANDLE,),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}

PLACED: dict[str, tuple[Any, ...]] = {
    "cuMemPrefetchAsync_v2": (ADDRESS, c_size_t, Location, c_uint, HANDLE),
    "cuMemPrefetchAsync": (ADDRESS, c_size_t, c_int, HANDLE),
    "cuMemAdvise_v2": (ADDRESS, c_size_t, c_int, Location),
    "cuMemAdvise": (ADDRESS, c_size_t, c_int, c_int),
}
"""Newer entry points (since CUDA 12.2) and older ones, which take a device instead of a location."""


class Driver:
    """The driver: `call` runs an entry point and turns its error into an exception."""

    def __init__(self, file: str = "libcuda.so.1") -> None:
        try:
            self._functions = ctypes.CDLL(file)
        except OSError as error:
            raise DeviceFailed(f"no NVIDIA driver ({error}); --device simulated shows the laboratory without a GPU") from error
        for name, types in SIGNATURES.items():
            self._declare(name, types)
        self.takes_locations = all(hasattr(self._functions, name) for name in PLACED if name.endswith("_v2"))
        for name, types in PLACED.items():
            if name.endswith("_v2") <= self.takes_locations:
                self._declare(name, types)

    def _declare(self, name: str, types: tuple[Any, ...]) -> None:
        try:
            function = getattr(self._functions, name)
        except AttributeError as error:
            raise DeviceFailed(f"the NVIDIA driver is too old: it has no {name}") from error
        function.argtypes, function.restype = types, c_int

    def status(self, name: str, *arguments: Any) -> int:
        """Runs an entry point; its CUresult."""
        return getattr(self._functions, name)(*arguments)

    def call(self, name: str, *arguments: Any) -> None:
        """Runs an entry point. An error that ends the context raises DeviceFailed, any other Cannot."""
        status = self.status(name, *arguments)
        if status:
            raise (DeviceFailed if status in LOST else Cannot)(f"{name} failed: {self.describe(status)}")

    def describe(self, status: int) -> str:
        """The driver's words for an error."""
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if self.status(name, status, ctypes.byref(text)) == 0 and text.value:
                texts.append(text.value.decode(errors="replace"))
        return ", ".join(texts) or f"error {status}"

    def number(self, name: str, *arguments: Any, kind: Any = c_int) -> int:
        """The number that an entry point writes to its first argument."""
        value = kind()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def handle(self, name: str, *arguments: Any) -> HANDLE:
        """The handle that an entry point writes to its first argument."""
        value = HANDLE()
        self.call(name, ctypes.byref(value), *arguments)
        return value


def pointer_to(array: Any) -> c_void_p:
    """The address of an array's first byte."""
    return c_void_p(array.ctypes.data)
