"""The environment of this process."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def variables(changes: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for the library to read while the `with` block runs. Programs that are started later do not inherit them."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
