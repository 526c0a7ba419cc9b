// Asks the kernel where pages are: page by page, and by its list of mappings.
#pragma once

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPU_NODE = 0, DEVICE_NODE = 1 };

static inline size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/// Number of pages from the one with `begin` to the one with the last byte.
static inline size_t pages_of(const void* begin, size_t bytes) {
  const uintptr_t first = (uintptr_t)begin / page_bytes();
  const uintptr_t last = ((uintptr_t)begin + bytes - 1) / page_bytes();
  return last - first + 1;
}

/// How many of these pages are on `node`.
static inline size_t pages_on(int node, const void* begin, size_t bytes) {
  const size_t count = pages_of(begin, bytes);
  void** pages = malloc(count * sizeof(void*));
  int* nodes = malloc(count * sizeof(int));
  const uintptr_t first = (uintptr_t)begin / page_bytes() * page_bytes();
  for (size_t i = 0; i < count; ++i) pages[i] = (void*)(first + i * page_bytes());
  if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0)) {
    perror("move_pages");
    exit(2);
  }
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) found += nodes[i] == node;
  free(pages);
  free(nodes);
  return found;
}

static inline int all_on(int node, const void* begin, size_t bytes) {
  return pages_on(node, begin, bytes) == pages_of(begin, bytes);
}

/// The number after `key` in the entry of /proc/self/FILE for the mapping at `address`; 0 if there is none.
static inline size_t of_mapping(const char* file, const void* address, const char* key) {
  char path[64], line[1024];
  snprintf(path, sizeof path, "/proc/self/%s", file);
  FILE* text = fopen(path, "r");
  size_t value = 0;
  int inside = 0;
  while (text && fgets(line, sizeof line, text)) {
    // A mapping's first line begins with its address; mappings ascend.
    char* end = NULL;
    const uintptr_t begin = strtoull(line, &end, 16);
    if (end - line >= 8 && (*end == '-' || *end == ' ')) {
      inside = begin <= (uintptr_t)address;
      if (inside) value = 0;
    }
    const char* found = inside ? strstr(line, key) : NULL;
    if (found) value = strtoul(found + strlen(key), NULL, 10);
  }
  if (text) fclose(text);
  return value;
}

/// Memory that is bound to `node` before its first touch, as by `numactl --membind`.
static inline void* bound_memory(size_t bytes, int node) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const unsigned long mask = 1UL << node;
  if (memory == MAP_FAILED || syscall(SYS_mbind, memory, bytes, MPOL_BIND, &mask, 8 * sizeof mask, 0)) {
    perror("mbind");
    exit(2);
  }
  return memory;
}

/// Free bytes of `node`'s memory.
static inline size_t free_on(int node) {
  char path[80], line[256];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
  FILE* text = fopen(path, "r");
  size_t kilobytes = 0;
  while (text && fgets(line, sizeof line, text)) {
    const char* found = strstr(line, "MemFree:");
    if (found) kilobytes = strtoul(found + strlen("MemFree:"), NULL, 10);
  }
  if (text) fclose(text);
  return kilobytes << 10;
}
