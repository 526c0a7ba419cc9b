// A program that may have been started with rights that its caller lacks. It says whether it was, multiplies, allocates
// a large block, and checks whether the code of its BLAS equals the code in the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "product.h"

enum { LOOKED_AT = 64, LARGE = 256 << 20 };

/// Whether the bytes at `code` equal those in the file that is mapped there.
static int as_in_its_file(const void* code) {
  FILE* const maps = fopen("/proc/self/maps", "r");
  if (!maps) abort();
  char line[4096];
  int same = -1;
  while (same < 0 && fgets(line, sizeof line, maps)) {
    unsigned long begin, end, offset;
    char path[4096];
    if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &begin, &end, &offset, path) != 4) continue;
    const unsigned long address = (unsigned long)code;
    if (address < begin || address >= end) continue;
    char bytes[LOOKED_AT];
    const int file = open(path, O_RDONLY);
    if (file < 0 || pread(file, bytes, sizeof bytes, (off_t)(address - begin + offset)) != sizeof bytes) abort();
    close(file);
    same = !memcmp(bytes, code, sizeof bytes);
  }
  fclose(maps);
  return same;
}

int main(void) {
  void* const blas = dlopen("libtoy.so", RTLD_NOW | RTLD_NOLOAD);
  Gemm* const gemm = blas ? (Gemm*)dlsym(blas, "dgemm_") : NULL;
  if (!gemm) return 99;
  printf("elevated: %s\n", getauxval(AT_SECURE) ? "yes" : "no");
  verdict_of("products", right_products(dgemm_));
  verdict_of("products of the library", right_products(gemm));
  char* volatile const block = malloc(LARGE);
  if (!block) abort();
  *block = 1;
  free(block);
  printf("code: %s\n", as_in_its_file((const void*)gemm) == 1 ? "untouched" : "patched");
  return scenario_status();
}
