// Prints where one block lies during its life. Usage: where BYTES. Prints a line for each state: the block's alignment
// (up to 64 KiB), and, from the kernel, the policy of its first and last page and the preferred node.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BY_ADDRESS = 2, PREFERRED = 1, PAGE = 4096 };  // MPOL_F_ADDR, MPOL_PREFERRED

static void print_policy(const char* address) {
  int mode = -1;
  unsigned long nodes[16] = {0};
  if (syscall(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, address, BY_ADDRESS) != 0) mode = -1;
  if (mode == PREFERRED)
    printf(" preferred %d", __builtin_ctzl(nodes[0]));
  else
    printf(" %s", mode == 0 ? "default" : "another");
}

static void print(const char* state, const char* block, size_t bytes) {
  size_t alignment = 1;
  while (alignment < 65536 && (uintptr_t)block % (2 * alignment) == 0) alignment *= 2;
  printf("%s: aligned %zu,", state, alignment);
  print_policy(block);
  print_policy(block + bytes - 1);
  printf("\n");
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const size_t bytes = strtoul(arguments[1], NULL, 10);
  char* block = malloc(bytes);
  print("malloc", block, bytes);
  memset(block, 1, bytes);
  char* const obstacle = malloc(bytes);
  block = realloc(block, 3 * bytes);
  print("grown", block, 3 * bytes);
  memset(block, 2, 3 * bytes);
  block = realloc(block, bytes + 100);
  print("shrunk", block, bytes + 100);
  free(block);
  free(obstacle);
  block = calloc(bytes, 1);
  print("calloc", block, bytes);
  free(block);
  block = realloc(malloc(100), bytes);
  print("from small", block, bytes);
  free(block);
  return 0;
}
