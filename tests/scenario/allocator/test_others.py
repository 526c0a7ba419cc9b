"""Beside other allocators, sanitizers and debuggers, the interposer leaves everything to them, and tells the user in one line."""

import shutil

import offload
import pytest
from interposer import ALIGN, ALLOCATOR, AT_MALLOC, PROGRAMS, interposed

HEAP = [PROGRAMS / "heap", 2, 300, 20_000, 400_000, "common"]
RIGHT = "2 threads, 300 steps: right\n"
OTHERS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"]


def is_off(outcome: offload.Outcome, owner: str, request: str = "placing") -> bool:
    return outcome.lines == [f"{request} memory at malloc has no effect: {owner} allocates in this process"]


def there(name: str) -> str:
    path = offload.LIBRARIES / name
    if not path.exists():
        pytest.skip(f"{name} is not installed")
    return str(path)


@pytest.mark.parametrize("first", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_allocator_preloaded(name, first):
    other = [there(name)]
    outcome = interposed(HEAP, AT_MALLOC, before=other if first else [], after=[] if first else other)
    assert (outcome.status, outcome.stdout) == (0, RIGHT), outcome.stderr
    assert "placed 0 bound 0" in outcome.stderr
    assert is_off(outcome, name.removesuffix(".4") + ".4" if "tcmalloc" in name else name), outcome.stderr


def test_the_line_names_what_was_asked_for():
    outcome = interposed(HEAP, ALIGN, after=[there("libjemalloc.so.2")])
    assert is_off(outcome, "libjemalloc.so.2", "aligning"), outcome.stderr


def test_nothing_asked_for_nothing_said():
    outcome = interposed(HEAP, {}, after=[there("libjemalloc.so.2")])
    assert (outcome.status, outcome.stdout, outcome.lines) == (0, RIGHT, [])


def test_another_allocator_that_the_program_is_linked_with(workshop):
    other = there("libjemalloc.so.2")
    source = offload.ROOT / "tests" / "scenario" / "allocator" / "programs" / "edges.c"
    program = workshop.program("linked", source, flags=["-fno-builtin", "-Wno-all", "-Wno-error", f"-Wl,--no-as-needed,{other}", "-pthread"])
    plain = offload.plain([program, 200_000])
    outcome = interposed([program, 200_000], AT_MALLOC)
    assert (outcome.status, outcome.stdout) == (plain.status, plain.stdout), outcome.stderr
    assert is_off(outcome, "libjemalloc.so.2"), outcome.stderr


OWN_MALLOC = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Alignas(16) char arena[1 << 22];
static size_t used;
void* malloc(size_t bytes) {
  size_t* block = (size_t*)(arena + used + 16);
  if (used + bytes + 32 > sizeof arena) return NULL;
  block[-1] = bytes;
  used += (bytes + 31) / 16 * 16;
  return block;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* block, size_t bytes) {
  void* copy = malloc(bytes);
  if (block != NULL && copy != NULL) memcpy(copy, block, ((size_t*)block)[-1] < bytes ? ((size_t*)block)[-1] : bytes);
  return copy;
}
int main(void) {
  char* block = malloc(1 << 20);
  printf("own: %d\\n", block >= arena && block < arena + sizeof arena);
  free(block);
  return 0;
}
"""


def compiled(workshop, name: str, text: str, *flags: str):
    source = workshop.directory / f"{name}.c"
    source.write_text(text)
    return workshop.program(name, source, flags=["-fno-builtin", *flags])


def test_a_program_with_an_allocator_of_its_own(workshop):
    outcome = interposed([compiled(workshop, "own", OWN_MALLOC)], AT_MALLOC)
    assert (outcome.status, outcome.stdout) == (0, "own: 1\n")
    assert is_off(outcome, "own"), outcome.stderr


PLAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  void* (*volatile allocate)(size_t) = malloc;
  char* block = allocate(1 << 20);
  memset(block, 1, 1 << 20);
  printf("%d\\n", (int)((unsigned long)block % 65536));
  free(realloc(block, 3 << 20));
  return 0;
}
"""


@pytest.mark.parametrize("flags", [["-fno-pie", "-no-pie"], ["-fPIE", "-pie"], ["-rdynamic"], ["-Wl,-z,now"]])
def test_a_program_that_takes_the_address_of_malloc(workshop, flags):
    """A program that is not position-independent has its own entry for malloc, which must not be taken for an allocator."""
    program = compiled(workshop, "pointer", PLAIN, *flags)
    outcome = interposed([program], AT_MALLOC)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "0\n", "")


@pytest.mark.parametrize("flags", [["-fsanitize=address"], ["-fsanitize=address", "-static-libasan"], ["-fsanitize=thread"]], ids=" ".join)
def test_a_sanitized_program(workshop, flags):
    program = compiled(workshop, "sanitized", PLAIN, *flags)
    options = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", "TSAN_OPTIONS": ""}
    plain = offload.plain([program], env=offload.environment(**options))
    if plain.status != 0:
        pytest.skip("the sanitizer does not run here")
    outcome = interposed([program], AT_MALLOC | options)
    assert outcome.status == 0, outcome.stderr
    assert len(outcome.lines) == 1 and " allocates in this process" in outcome.stderr, outcome.stderr


def test_valgrind(workshop):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    program = compiled(workshop, "pointer", PLAIN)
    env = offload.environment(LD_PRELOAD=str(ALLOCATOR), **AT_MALLOC)
    outcome = offload.run(["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program], env=env)
    assert outcome.status == 0, outcome.stderr
    assert is_off(outcome, "valgrind"), outcome.stderr


@pytest.mark.parametrize("told", [False, True], ids=["alone", "notified"])
def test_caches_of_registered_memory_hear_what_is_unmapped(settings, told):
    """UCX patches the C library's munmap and similar functions. Freed memory still passes through them."""
    plain = offload.plain([PROGRAMS / "cache"])
    if plain.status == 77:
        pytest.skip("UCX is not installed")
    assert plain.status == 0 and "NOT" not in plain.stdout
    outcome = interposed([PROGRAMS / "cache"], settings, before=[PROGRAMS / "liblistener_0.so"] if told else [])
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, plain.stdout, "")
