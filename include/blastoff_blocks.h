/* Blocks: memory with a version on the host and one on each device (docs/blocks.md). A program says what it will do
 * with a block, and at which place. Blastoff keeps the newest version at that place, and copies nothing twice.
 *
 *   blastoff_block* block;
 *   void* address;
 *   blastoff_block_create(bytes, &block);
 *   blastoff_block_acquire(block, BLASTOFF_HOST, BLASTOFF_WRITE, NULL, &address);   // fill it
 *   blastoff_block_release(block, BLASTOFF_HOST, NULL);
 *   blastoff_block_acquire(block, 0, BLASTOFF_UPDATE, stream, &address);            // on the first device
 *   kernel<<<..., stream>>>(address);
 *   blastoff_block_release(block, 0, stream);
 *
 * Link with -lblastoff, or run the program under `blastoff run`. Include blastoff/blocks.hpp for C++, use the module of
 * blastoff_blocks.f90 for Fortran.
 *
 * A *place* is BLASTOFF_HOST or a device: 0, 1, ... below blastoff_blocks_devices(). Without a device the same program
 * runs on the host. All sizes are bytes. All functions may be called from any thread, but not from signal handlers.
 * They preserve errno and the CUDA context of the thread. Each returns BLASTOFF_OK or an error; after an error the
 * block is as it was before. blastoff_blocks_message() returns the text of the latest error of a thread. */
#ifndef BLASTOFF_BLOCKS_H
#define BLASTOFF_BLOCKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLASTOFF_HOST (-1)

/* What a program does with the bytes of a block that it has acquired. */
enum blastoff_access {
  BLASTOFF_READ = 0,  /* reads. Any number of places and threads may hold the block for reading */
  BLASTOFF_WRITE = 1, /* writes every byte, reads none that it has not written: nothing is copied. One holder */
  BLASTOFF_UPDATE = 2 /* reads and writes. One holder */
};

enum blastoff_status {
  BLASTOFF_OK = 0,
  BLASTOFF_BAD_ARGUMENT = 1,  /* no such place, a null pointer, labels that describe no contraction, ... */
  BLASTOFF_CONFLICT = 2,      /* somebody holds the block in a way that excludes this; see blastoff_block_acquire() */
  BLASTOFF_NOT_HELD = 3,      /* released at a place where it was not acquired */
  BLASTOFF_NOTHING_THERE = 4, /* read or updated, but nobody has written the block yet */
  BLASTOFF_OUT_OF_MEMORY = 5, /* on the device or on the host. The program can release or destroy blocks and try again,
                                 or work on the host */
  BLASTOFF_DEVICE_LOST = 6,   /* the device failed. Blocks whose newest version was only there must be written again;
                                 all others are intact */
  BLASTOFF_UNSUPPORTED = 7,   /* this device cannot do that; or the process was forked, or is ending */
  BLASTOFF_COMMUNICATION = 8  /* MPI has failed (blastoff_blocks_mpi.h) */
};

typedef struct blastoff_block blastoff_block;

/* ---- The process ------------------------------------------------------------------------------------------------ */

/* The number of devices. The first call opens them (some tenths of a second on a GPU). 0: there is none, or the
 * settings exclude it (BLASTOFF_DEVICE=none); blocks are then on the host only. The devices are those that the settings
 * name: usually one for each MPI process. */
int blastoff_blocks_devices(void);

/* One line about the latest error of this thread: what was asked and why it is not possible. "" before the first error.
 * Valid until the next call of this thread. */
const char* blastoff_blocks_message(void);

/* Switches and sizes that control how blocks work, to measure what each is worth. Switches are 1 by default, sizes
 * 0. */
typedef struct blastoff_blocks_options {
  int intents; /* 1: accesses are as the program says. 0: every acquisition is an update */
  int pinned;  /* 1: the host memory of blocks is page-locked, so that copies are fast and asynchronous. 0: it is not */
  int pooled;  /* 1: freed memory is kept for later blocks of about the same size. 0: every block allocates */
  int asynchronous;     /* 1: copies are waited for when their data is used. 0: when they are started */
  size_t device_memory; /* bytes that blocks may hold on each device; 0: all that is free */
  size_t pinned_memory; /* bytes of page-locked memory in blocks and their pool; 0: half of the main memory. Beyond
                           that, memory is not page-locked */
  int direct;  /* messages (blastoff_blocks_mpi.h) go 1: from and into device memory; 0: through the host; -1, the
                  default: from and into device memory if the MPI can. Copies between two devices of the process go
                  through the host if this is 0, otherwise directly if the devices can */
  int streams; /* streams of copies on each device, up to 16. 1: copies in both directions use it. 2, the default (also
                  0): one for each direction. More: half of them for each direction, in turn */
} blastoff_blocks_options;

/* Returns the options in force. */
int blastoff_blocks_get_options(blastoff_blocks_options* options);
/* Applies to everything that follows. Memory that has been allocated stays as it is. */
int blastoff_blocks_set_options(const blastoff_blocks_options* options);

/* Counters of what blocks have done in this process so far. */
typedef struct blastoff_blocks_counters {
  unsigned long long acquisitions, found_current; /* all acquisitions; those that needed no copy */
  unsigned long long copies_to_device, bytes_to_device;
  unsigned long long copies_from_device, bytes_from_device;
  unsigned long long copies_between_devices, bytes_between_devices; /* direct copies, without the host */
  unsigned long long evictions, evicted_bytes;                      /* from devices that were short of memory, or by
                                                                       blastoff_block_evict() */
  unsigned long long contractions;
  double flops;           /* floating-point operations of contractions */
  double waiting_seconds; /* time in which threads waited for copies and for work on devices */
  /* Allocations of host memory and of device memory. A hit was served by memory that had been freed before. */
  unsigned long long host_hits, host_misses, host_bytes; /* bytes: allocated now, in use or in the pool */
  double host_seconds;                                   /* spent on allocating and freeing */
  unsigned long long host_plain; /* allocations that should have been page-locked, but are not */
  unsigned long long device_hits, device_misses, device_bytes;
  double device_seconds;
} blastoff_blocks_counters;

int blastoff_blocks_get_counters(blastoff_blocks_counters* counters);

/* Waits until all copies and contractions have run. Returns the first error among them. */
int blastoff_blocks_synchronize(void);

/* Frees the memory that is kept for later blocks, on the host and on devices. */
int blastoff_blocks_trim(void);

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */

/* Creates a block of `bytes` bytes (at least 1) with memory of its own. The memory is allocated when a place first
 * needs it; on the host it is page-locked. Addresses are multiples of 256. The block has no content until it is
 * written. */
int blastoff_block_create(size_t bytes, blastoff_block** block);

/* Creates a block over the program's own memory. This memory is the block's host version and must exist until the block
 * is destroyed. The program may write it without acquiring it while no device holds the block for writing and the host
 * version is the newest (after the block was acquired on the host). Blastoff finds the pages that were written
 * meanwhile, and copies them at the next use on a device. If the system cannot tell what was written (shared memory,
 * files, old kernels), all of the memory is copied at each such use. Two blocks must not share bytes. */
int blastoff_block_create_over(void* memory, size_t bytes, blastoff_block** block);

/* Destroys a block, which nobody may hold. For a block over the program's memory, the newest version is first copied
 * there; if that fails, the block is destroyed all the same. Does not wait for work that was released with a stream.
 * NULL is allowed. */
int blastoff_block_destroy(blastoff_block* block);

size_t blastoff_block_bytes(const blastoff_block* block);

/* Copies the newest version to `place` if it is not there (BLASTOFF_WRITE copies nothing), and stores its address there
 * in `address`. The address is valid until the release.
 *
 * `stream`: a CUstream or cudaStream_t of that device on which the block will be used; the call does not wait, and work
 * that is queued on the stream afterwards finds the version. NULL: the call waits until the version is there, and the
 * caller may use it at once. (For the default stream pass cudaStreamLegacy or cudaStreamPerThread.) On the host,
 * `stream` is NULL.
 *
 * BLASTOFF_CONFLICT: somebody holds the block for writing, or holds it at all and `access` is not BLASTOFF_READ; the
 * call does not wait for them. Also if the program wrote its memory under the block while the newest version was on a
 * device. */
int blastoff_block_acquire(blastoff_block* block, int place, enum blastoff_access access, void* stream, void** address);

/* Ends one acquisition at `place`. `stream`: work that is queued there so far may still use the block; its next user
 * waits for that work. NULL: the caller's work has ended. After BLASTOFF_DEVICE_LOST the block is no longer held. */
int blastoff_block_release(blastoff_block* block, int place, void* stream);

/* Starts to copy the newest version to a place where it will be used soon. Does not wait. This is a hint:
 * BLASTOFF_OUT_OF_MEMORY and BLASTOFF_CONFLICT (somebody writes the block) may be ignored. */
int blastoff_block_prefetch(blastoff_block* block, int place);

/* Frees the block's memory at a place where it will not be used soon. If the newest version is only there, it is first
 * copied to the host. Nobody may hold the block there. Without this call, the blocks that were used longest ago are
 * removed when a device is short of memory. */
int blastoff_block_evict(blastoff_block* block, int place);

/* Writes the newest version of a block that will not be used for a while to a file, and frees the block's memory
 * everywhere. The next acquisition reads it. The file is in the directory that the variable TMPDIR names, or in
 * /var/tmp; it has no name there, and is gone when the process ends. Nobody may hold the block. Nothing happens to a
 * block that has not been written, or that is over the program's memory. BLASTOFF_OUT_OF_MEMORY: the file cannot be
 * written. */
int blastoff_block_store(blastoff_block* block);

/* Returns 1 if the newest version is at that place or on its way there; 0 if not, or if there is no such place. */
int blastoff_block_is_current(blastoff_block* block, int place);

/* Returns a place where the newest version can be read without a copy: a device if one has it, otherwise BLASTOFF_HOST.
 * (For example, to send it to another process.) Also BLASTOFF_HOST if nothing has been written yet. */
int blastoff_block_newest(blastoff_block* block);

/* ---- Parts, for transfers --------------------------------------------------------------------------------------- */

/* The following functions are for libraries that move blocks to other processes or to files; blastoff_blocks_mpi.h uses
 * them. While the library moves one part, the next part is copied from or to a device. */

/* Like blastoff_block_acquire() on the host for reading, but returns when the copies of the parts have started. The
 * bytes before `end` can be used after blastoff_block_await_part(block, end); all of them, after the block's last part
 * was awaited. */
int blastoff_block_acquire_parts(blastoff_block* block, size_t part_bytes, void** address);
int blastoff_block_await_part(blastoff_block* block, size_t end);

/* For a caller that holds the block for writing on the host, and has finished writing these bytes: starts to copy them
 * to `place`. Bytes that were not forwarded before the release are copied when they are used. This is a hint; it does
 * not wait. */
int blastoff_block_forward_part(blastoff_block* block, int place, size_t offset, size_t bytes);

/* Ends an acquisition for writing that has failed. The block then has no content. */
int blastoff_block_abandon(blastoff_block* block, int place);

/* Makes a device's context the current context of this thread until blastoff_blocks_leave(). Libraries that receive
 * addresses of device memory expect that. On the host both functions do nothing. */
int blastoff_blocks_enter(int place);
void blastoff_blocks_leave(int place);

/* Sets blastoff_blocks_message() of this thread, and returns `status`. */
int blastoff_blocks_fail(int status, const char* message);

/* ---- Numbers ---------------------------------------------------------------------------------------------------- */

enum blastoff_type { BLASTOFF_FLOAT = 0, BLASTOFF_DOUBLE = 1, BLASTOFF_COMPLEX_FLOAT = 2, BLASTOFF_COMPLEX_DOUBLE = 3 };

/* Sets all elements of a block to `*value`, a number of type `type`, on `place`. The size of the block is a multiple of
 * the type's. On a device the work is queued: use the block as after a release. */
int blastoff_block_fill(blastoff_block* block, enum blastoff_type type, const void* value, int place);

/* ---- Tensor contraction ----------------------------------------------------------------------------------------- */

/* A block as a tensor. Each letter of `labels` names an index; the first index is contiguous in memory (as in Fortran).
 * `extents` has the length of each index. The labels "" mean a scalar. */
typedef struct blastoff_tensor {
  blastoff_block* block;
  const char* labels;
  const long long* extents;
} blastoff_tensor;

/* C = alpha A B + beta C on `place`, summed over the indices of A and B that C does not have. For example,
 *   A "ij", B "jk", C "ik"            is a matrix product,
 *   A "abcd", B "cdij", C "abij"      is a particle-particle ladder.
 * Every index occurs in exactly two of the three tensors, with the same length, and at most once in each; a tensor has
 * at most 8 indices. `alpha` and `beta` point to numbers of type `type`. If *beta is 0, C is only written. Complex
 * numbers are not conjugated. On a device the work is queued: use the blocks as after a release. A matrix product of a
 * library does the arithmetic. Tensors whose indices are not in its order are first permuted, in memory of the pool. */
int blastoff_block_contract(enum blastoff_type type, const void* alpha, const blastoff_tensor* a,
                            const blastoff_tensor* b, const void* beta, const blastoff_tensor* c, int place);

#ifdef __cplusplus
}
#endif

#endif
