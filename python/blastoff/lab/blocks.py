"""The block interface of libblastoff.so (include/blastoff_blocks.h) in this process, on the laboratory's device."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from blastoff import library
from blastoff.environment import variables
from blastoff.errors import CommandError
from blastoff.lab.failures import Cannot, DeviceFailed
from blastoff.lab.kernels.table import Intent

HOST, DEVICE = -1, 0
"""The two places at which the laboratory uses blocks."""

CONFLICT, OUT_OF_MEMORY, DEVICE_LOST, UNSUPPORTED = 2, 5, 6, 7

SETTINGS = {"BLASTOFF_INTERCEPT": "preload", "BLASTOFF_SUMMARY": "never"}
"""Nothing is patched, so that the laboratory's own BLAS calls stay on the CPU."""


class Options(ctypes.Structure):
    """blastoff_blocks_options."""

    _fields_ = (
        ("intents", c_int),
        ("pinned", c_int),
        ("pooled", c_int),
        ("asynchronous", c_int),
        ("device_memory", c_size_t),
        ("pinned_memory", c_size_t),
        ("direct", c_int),
        ("streams", c_int),
    )


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "blastoff_blocks_devices": (),
    "blastoff_blocks_get_options": (POINTER(Options),),
    "blastoff_blocks_set_options": (POINTER(Options),),
    "blastoff_blocks_trim": (),
    "blastoff_block_create": (c_size_t, POINTER(c_void_p)),
    "blastoff_block_create_over": (c_void_p, c_size_t, POINTER(c_void_p)),
    "blastoff_block_destroy": (c_void_p,),
    "blastoff_block_acquire": (c_void_p, c_int, c_int, c_void_p, POINTER(c_void_p)),
    "blastoff_block_release": (c_void_p, c_int, c_void_p),
    "blastoff_block_prefetch": (c_void_p, c_int),
}


class Blocks:
    """All blocks of this process. Without a limit, they may take all device memory that the laboratory may take."""

    def __init__(self, device: str) -> None:
        """Opens `device`, a value of the setting `device`. A process must do so only once."""
        began = time.perf_counter()
        try:
            path = library.find_library()
        except CommandError as error:
            raise Cannot(f"blocks need Blastoff's library: {error}") from error
        if hasattr(ctypes.CDLL(None), "blastoff_version"):
            raise Cannot("blocks need a library with settings of their own: another one was started with this process")
        with variables({**SETTINGS, "BLASTOFF_DEVICE": device}):
            self._functions = self._load(str(path))
            devices = self._functions.blastoff_blocks_devices()
        if devices == 0:
            raise Cannot(f"{path} could not open {device} for blocks: {self.message() or '`blastoff doctor` says why'}")
        self.path, self.seconds = str(path), time.perf_counter() - began
        self.live = 0
        self._most: int | None = None

    @staticmethod
    def _load(path: str) -> Any:
        """The library with its functions declared."""
        try:
            functions = ctypes.CDLL(path, mode=os.RTLD_LOCAL | os.RTLD_NOW)
            for name, types in SIGNATURES.items():
                function = getattr(functions, name)
                function.argtypes, function.restype = types, c_int
            functions.blastoff_blocks_message.restype = c_char_p
        except (OSError, AttributeError) as error:
            raise Cannot(f"blocks need Blastoff's library, and {path} cannot be used: {error}") from error
        return functions

    def message(self) -> str:
        """What the library says about its latest error."""
        return self._functions.blastoff_blocks_message().decode(errors="replace")

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the library. Raises DeviceFailed if the device has failed, and Cannot if this machine cannot do it."""
        status = getattr(self._functions, name)(*arguments)
        if status == DEVICE_LOST:
            raise DeviceFailed(self.message())
        if status in (OUT_OF_MEMORY, UNSUPPORTED):
            raise Cannot(self.message())
        if status:
            raise RuntimeError(f"{name} failed with status {status}: {self.message()}")

    def hint(self, name: str, *arguments: Any) -> None:
        """Calls a function that may do nothing because there is no memory or somebody holds the block."""
        if getattr(self._functions, name)(*arguments) not in (0, CONFLICT, OUT_OF_MEMORY):
            raise DeviceFailed(self.message())

    @contextmanager
    def at_most(self, size: int) -> Iterator[None]:
        """Limits the device memory of blocks to `size` bytes while the `with` block runs. To be used before the first block is made."""
        self._most = size
        try:
            yield
        finally:
            self._most = None

    def create(self, size: int, room: int, memory: int = 0) -> Block:
        """A block over the program's memory at an address, or over memory of its own. All blocks together hold at most `room` bytes on the device."""
        if self.live == 0:
            options = Options()
            self.call("blastoff_blocks_get_options", byref(options))
            options.device_memory = max(1, room if self._most is None else min(self._most, room))
            self.call("blastoff_blocks_set_options", byref(options))
        handle = c_void_p()
        if memory:
            self.call("blastoff_block_create_over", memory, size, byref(handle))
        else:
            self.call("blastoff_block_create", size, byref(handle))
        self.live += 1
        return Block(self, handle)

    def forget(self) -> None:
        """Notes that a block was destroyed. After the last one, the library releases the memory that it keeps for later blocks."""
        self.live -= 1
        if self.live == 0:
            self.call("blastoff_blocks_trim")


class Block:
    """One block. `stream` is a CUstream as a number: work that is queued there after acquire() may use the block, until release(). 0: the caller
    uses the block itself."""

    def __init__(self, blocks: Blocks, handle: c_void_p) -> None:
        self.blocks, self.handle = blocks, handle

    def acquire(self, place: int, intent: Intent, stream: int = 0) -> int:
        """Makes the block available at `place` and returns its address there. Brings the newest version if the intent is to read it."""
        address = c_void_p()
        self.blocks.call("blastoff_block_acquire", self.handle, place, intent.value, stream, byref(address))
        return address.value or 0

    def release(self, place: int, stream: int = 0) -> None:
        self.blocks.call("blastoff_block_release", self.handle, place, stream)

    def prefetch(self, place: int) -> None:
        """Hints that the block will be needed at `place`. Does not wait."""
        self.blocks.hint("blastoff_block_prefetch", self.handle, place)

    def destroy(self) -> None:
        """Destroys the block. If it lies over the program's memory, the newest version is copied there first."""
        handle, self.handle = self.handle, c_void_p()
        try:
            self.blocks.call("blastoff_block_destroy", handle)
        finally:
            self.blocks.forget()


_opened: dict[str, Blocks | str] = {}
"""The device that this process has opened, or why it could not be opened. There is at most one, since the library reads its settings once."""


def open_blocks(device: str) -> Blocks:
    """The blocks of this process on a device ("cuda:0", "simulated"); raises Cannot if they cannot be used there."""
    if not _opened:
        try:
            _opened[device] = Blocks(device)
        except Cannot as reason:
            _opened[device] = str(reason)
    found = _opened.get(device, f"the blocks of this process are on {next(iter(_opened))}")
    if isinstance(found, str):
        raise Cannot(found)
    return found
