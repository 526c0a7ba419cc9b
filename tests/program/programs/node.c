/* Lets the ranks of a job believe that they run on several nodes: RANKS_PER_NODE of them on each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int gethostname(char* name, size_t length) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const char* per_node = getenv("RANKS_PER_NODE");
  if (rank == NULL) rank = getenv("PMI_RANK");
  if (rank != NULL && per_node != NULL) return snprintf(name, length, "node%d", atoi(rank) / atoi(per_node)) < 0;
  int (*const next)(char*, size_t) = (int (*)(char*, size_t))dlsym(RTLD_NEXT, "gethostname");
  return next(name, length);
}
