"""Allocations before anything is set up: in constructors, in the dynamic linker, in resolvers of indirect functions."""

import sys

import offload
import pytest
from interposer import AT_MALLOC, interposed

CONSTRUCTOR = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *small, *large;
static __thread char local[5000];
static void* thread(void* unused) {
  local[0] = 1;
  char* block = malloc(2 << 20);
  memset(block, 1, 2 << 20);
  free(block);
  return unused;
}
__attribute__((constructor(101))) static void first(void) {
  small = malloc(100);
  large = calloc(3 << 20, 1);
  large = realloc(large, 5 << 20);
  memset(large, 1, 5 << 20);
  pthread_t id;
  pthread_create(&id, NULL, thread, NULL);
  pthread_join(id, NULL);
  void* (*found)(size_t) = (void* (*)(size_t))dlsym(RTLD_NEXT, "malloc");
  free(found(200000));
  if (dlsym(RTLD_DEFAULT, "no_such_name") != NULL || dlerror() == NULL) abort();
  free(dlopen("libm.so.6", RTLD_NOW) == NULL ? NULL : strdup("opened"));
}
__attribute__((destructor)) static void last(void) {
  free(small);
  free(large);
  free(malloc(4 << 20));
  fprintf(stderr, "the constructor's blocks were freed\\n");
}
"""

RESOLVER = """
#include <stdlib.h>
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
__attribute__((constructor)) static void call(void) { if (chosen() != 1) abort(); }
"""


@pytest.mark.parametrize("first", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize("text", [CONSTRUCTOR, RESOLVER], ids=["constructor", "resolver"])
def test_a_library_that_allocates_while_it_is_loaded(workshop, text, first):
    source = workshop.directory / "early.c"
    source.write_text(text)
    early = [workshop.shared_object("early", source, flags=["-fno-builtin", "-pthread"])]
    outcome = interposed([sys.executable, "-c", 'print("hello")'], AT_MALLOC, before=early if first else [], after=[] if first else early)
    assert (outcome.status, outcome.stdout) == (0, "hello\n"), outcome.stderr
    assert outcome.stderr == ("the constructor's blocks were freed\n" if text == CONSTRUCTOR else "")


def test_beside_libblastoff():
    outcome = interposed(["/bin/echo", "hello"], AT_MALLOC, before=[offload.LIBRARY])
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "hello\n", "")


def test_a_program_that_loads_and_unloads_libraries(workshop):
    source = workshop.directory / "loads.c"
    source.write_text("""
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 50; ++i) {
    void* library = dlopen(i % 2 ? "libm.so.6" : "libresolv.so.2", RTLD_NOW);
    if (library == NULL || dlclose(library) != 0) return 1;
    if (dlopen("/no/such/library.so", RTLD_NOW) != NULL || dlerror() == NULL) return 2;
  }
  puts("right");
  return 0;
}
""")
    outcome = interposed([workshop.program("loads", source)], {"BLASTOFF_PLACE": "at-malloc=1", "BLASTOFF_DEVICE_NODE": "0"})
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "right\n", "")


WAITING = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void* thread(void* unused) {
  char* block = malloc(2 << 20);
  memset(block, 1, 2 << 20);
  free(block);
  return unused;
}
__attribute__((constructor)) static void wait(void) {
  pthread_t id;
  if (pthread_create(&id, NULL, thread, NULL) == 0) pthread_join(id, NULL);
}
"""

LOADING = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** arguments) {
  if (count != 2 || dlopen(arguments[1], RTLD_NOW) == NULL) return 1;
  puts("right");
  return 0;
}
"""


def test_the_first_large_block_while_somebody_holds_the_dynamic_linkers_lock(workshop):
    """A constructor inside dlopen waits for a thread, which therefore must not need dlopen's lock."""
    for name, text in (("waiting", WAITING), ("loading", LOADING)):
        (workshop.directory / f"{name}.c").write_text(text)
    library = workshop.shared_object("waiting", workshop.directory / "waiting.c", flags=["-fno-builtin", "-pthread"])
    program = workshop.program("loading", workshop.directory / "loading.c")
    outcome = interposed([program, library], AT_MALLOC, timeout=20)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "right\n", "")
