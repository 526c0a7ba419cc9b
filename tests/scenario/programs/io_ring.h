// A minimal ring of io_uring by plain system calls, for one request of a thread at a time. For C and C++.
#pragma once

#include <linux/io_uring.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread struct {
  int descriptor;
  unsigned *tail, *mask, *array, *head;
  struct io_uring_sqe* requests;
  struct io_uring_cqe* results;
} ring;

static inline void* of_ring(size_t size, long offset) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.descriptor, offset);
  if (memory == MAP_FAILED) abort();
  return memory;
}

/// 0: there is no io_uring here.
static inline int open_ring(void) {
  struct io_uring_params p;
  memset(&p, 0, sizeof p);
  ring.descriptor = (int)syscall(SYS_io_uring_setup, 4, &p);
  if (ring.descriptor < 0) return 0;
  char* sq = (char*)of_ring(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
  char* cq = (char*)of_ring(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
  ring.requests = (struct io_uring_sqe*)of_ring(p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
  ring.tail = (unsigned*)(sq + p.sq_off.tail);
  ring.mask = (unsigned*)(sq + p.sq_off.ring_mask);
  ring.array = (unsigned*)(sq + p.sq_off.array);
  ring.head = (unsigned*)(cq + p.cq_off.head);
  ring.results = (struct io_uring_cqe*)(cq + p.cq_off.cqes);
  return 1;
}

/// Returns the result of the request: bytes, or the error number negated.
static inline int ask_ring(struct io_uring_sqe request) {
  const unsigned tail = *ring.tail, slot = tail & *ring.mask;
  ring.requests[slot] = request;
  ring.array[slot] = slot;
  __atomic_store_n(ring.tail, tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring.descriptor, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) abort();
  const unsigned head = *ring.head;
  const int result = ring.results[head & (2 * (*ring.mask + 1) - 1)].res;
  __atomic_store_n(ring.head, head + 1, __ATOMIC_RELEASE);
  return result;
}
