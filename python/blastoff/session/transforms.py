"""Takes the Fourier transforms of numpy.fft and scipy.fft for Blastoff, and the loops of numpy.matmul.

libblastoff.so carries the text of this file, and runs it in the interpreter of the program when that loads NumPy (src/runtime/python_transforms.h).
So it imports nothing of Blastoff, neither NumPy nor SciPy, works from Python 3.8 on, and is short: what it passes transforms on to is compiled at the
first of them (transform_engine.py).
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "_blastoff_transforms"
"""The name under which sys.modules says that this has been done."""

NAMES = ("fft", "ifft", "fftn", "ifftn", "fft2", "ifft2", "rfft", "rfftn", "rfft2", "irfft", "irfftn", "irfft2")
"""The functions that are taken, of both modules."""


def begin(address: int, floor: int, engine: str, matmul: int) -> None:
    """Takes the transforms and the loops, now or as soon as the program imports the modules. `address`: of the library's function for transforms;
    `floor`: the number of elements below which transforms are left alone; `engine`: the text of transform_engine.py; `matmul`: the address of the
    library's function for the loops."""
    if MARK in sys.modules:
        return
    sys.modules[MARK] = type(sys)(MARK)
    taking_transforms = {"numpy.fft": take_numpy, "scipy.fft": take_scipy}
    taking = {name: functools.partial(take, Engine(address, floor, engine, name)) for name, take in taking_transforms.items()}
    # `import numpy` imports it behind the core.
    taking["numpy.linalg"] = functools.partial(take_matmul, matmul)
    for name in [name for name in taking if name in sys.modules]:
        attempt(taking.pop(name), sys.modules[name])
    if taking:
        sys.meta_path.insert(0, Finder(taking))


def attempt(take: Callable[[Any], None], module: Any) -> None:
    """Takes what a module has to be taken; where that is not possible, it stays as it is."""
    try:
        take(module)
    except Exception:
        return


class Finder:
    """Calls a function for each of some modules as soon as it has been imported. The other finders find the modules. Withdraws afterwards."""

    def __init__(self, taking: dict[str, Callable[[Any], None]]) -> None:
        self.taking = taking

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        take = self.taking.pop(name, None)
        if take is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader, functools.partial(self.executed, take))
                return spec
        return None

    def executed(self, take: Callable[[Any], None], module: Any) -> None:
        attempt(take, module)
        if not self.taking and self in sys.meta_path:
            sys.meta_path.remove(self)


class Loader:
    """The loader of a module, which calls a function when the module has been executed."""

    def __init__(self, loader: Any, executed: Callable[[Any], None]) -> None:
        self.loader, self.executed = loader, executed

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.executed(module)


class Engine:
    """What computes the transforms of a module from the number of elements `floor` on. It is compiled at the first of them."""

    def __init__(self, address: int, floor: int, text: str, module: str) -> None:
        self.address, self.floor, self.text, self.module = address, floor, text, module
        self.made: Any = None

    def compute(self, name: str, original: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function of the module; NotImplemented if it has to compute it itself. `original`: the function; None: SciPy's own."""
        if self.made is None:
            namespace: dict[str, Any] = {"__name__": MARK}
            try:
                exec(compile(self.text, "<frozen blastoff.session.transform_engine>", "exec"), namespace)
                self.made = namespace["Engine"](self.address, self.floor, self.module).compute
            except Exception:
                self.made = lambda *_: NotImplemented
        return self.made(name, original, args, kwargs)


def take_numpy(engine: Engine, module: Any) -> None:
    """Replaces functions of numpy.fft. Its own functions still make all calls that are not passed on."""
    for name in NAMES:
        setattr(module, name, replacement(getattr(module, name), name, engine))


def replacement(original: Callable[..., Any], name: str, engine: Engine) -> Callable[..., Any]:
    array, floor = sys.modules["numpy"].ndarray, engine.floor

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is array and args[0].size >= floor:
            result = engine.compute(name, original, args, kwargs)
            if result is not NotImplemented:
                return result
        return original(*args, **kwargs)

    return function


def take_scipy(engine: Engine, module: Any) -> None:
    """Registers a backend of scipy.fft. Backends that the program sets come before it, and SciPy's own after it."""
    module.register_backend(Backend(engine))


class Backend:
    """A backend by the protocol of uarray."""

    __ua_domain__ = "numpy.scipy.fft"

    def __init__(self, engine: Engine) -> None:
        array, floor = sys.modules["numpy"].ndarray, engine.floor

        def function(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not args or type(args[0]) is not array or args[0].size < floor or method.__name__ not in NAMES:
                return NotImplemented
            return engine.compute(method.__name__, None, args, kwargs)

        self.__ua_function__ = function


def take_matmul(address: int, _module: Any) -> None:
    """Has the library replace the loops of numpy.matmul (src/intercept/blas/numpy_loops.h)."""
    import ctypes  # NumPy has imported it

    core = next(sys.modules[name] for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath") if name in sys.modules)
    fields = id(core.matmul) + object.__basicsize__
    types = "".join(core.matmul.types).replace("->", "").encode()
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(address)(fields, types)
