"""Frames of the library around an original, in which a thread may be cancelled at any instruction (docs/notes.md, "Nothing to clean up")."""

import functools

import offload
import pytest

elffile = pytest.importorskip("elftools.elf.elffile")

AROUND_ORIGINALS = ("make_large_call", "run_on_cpu", "run_original", "dispatch_if_small", "dispatch_call")


@functools.cache
def functions() -> dict[str, bool]:
    """The library's functions by their mangled names, and whether the unwinder has something to do in their frames."""
    with open(offload.LIBRARY, "rb") as file:
        elf = elffile.ELFFile(file)
        symbols = elf.get_section_by_name(".symtab")
        if symbols is None:
            pytest.skip("the library was stripped")
        names = {symbol["st_value"]: symbol.name for symbol in symbols.iter_symbols() if symbol["st_info"]["type"] == "STT_FUNC"}
        entries = [entry for entry in elf.get_dwarf_info().EH_CFI_entries() if hasattr(entry, "lsda_pointer")]  # the others are no functions
        frames = {entry["initial_location"]: entry.lsda_pointer for entry in entries}
    return {name: bool(frames.get(address)) for address, name in names.items()}


@pytest.mark.parametrize("name", AROUND_ORIGINALS)
def test_frames_around_originals_have_nothing_to_clean_up(name):
    named = f"{len(name)}{name}"
    found = {function: cleans for function, cleans in functions().items() if function.startswith("_ZN") and named in function}
    assert found
    assert not [function for function, cleans in found.items() if cleans]


def test_other_frames_have():
    assert [name for name, cleans in functions().items() if cleans and "15run_undisturbed" in name]
