/* Blocks: memory with a version on the host and one on each device (docs/blocks.md). A program says what it will do
 * with a block, and where; Blastoff keeps the newest version there, and copies nothing twice.
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
 * runs on the host. All sizes are bytes. All functions are for any thread, but not for signal handlers, and leave errno
 * and the CUDA context of the thread alone. Each returns BLASTOFF_OK or an error; after an error the block is as it was
 * before. The text of the latest error of a thread is blastoff_blocks_message(). */
#ifndef BLASTOFF_BLOCKS_H
#define BLASTOFF_BLOCKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLASTOFF_HOST (-1)

/* What a program does with the bytes of a block that it has acquired. */
enum blastoff_access {
  BLASTOFF_READ = 0,  /* reads; may hold the block at several places at once, and in several threads */
  BLASTOFF_WRITE = 1, /* writes every byte, reads none that it has not written: nothing is copied. Holds it alone */
  BLASTOFF_UPDATE = 2 /* reads and writes. Holds it alone */
};

enum blastoff_status {
  BLASTOFF_OK = 0,
  BLASTOFF_BAD_ARGUMENT = 1,  /* no such place, a null pointer, labels that say no contraction, ... */
  BLASTOFF_CONFLICT = 2,      /* held by another such that both cannot hold it; see blastoff_block_acquire() */
  BLASTOFF_NOT_HELD = 3,      /* released, but not acquired there */
  BLASTOFF_NOTHING_THERE = 4, /* read or updated, but nobody has written it yet */
  BLASTOFF_OUT_OF_MEMORY = 5, /* on the device or on the host. The program can release or destroy blocks and try again,
                                 or work on the host */
  BLASTOFF_DEVICE_LOST = 6,   /* the device failed. Blocks whose newest version was there alone have to be written anew;
                                 all others are whole */
  BLASTOFF_UNSUPPORTED = 7,   /* this device cannot do that; or the process was forked, or is ending */
  BLASTOFF_COMMUNICATION = 8  /* MPI has failed (blastoff_blocks_mpi.h) */
};

typedef struct blastoff_block blastoff_block;

/* ---- The process ------------------------------------------------------------------------------------------------ */

/* How many devices there are; opens them at the first call (some tenths of a second on a GPU). 0: none, or the settings
 * say so (BLASTOFF_DEVICE=none); blocks then live on the host. Devices are those that the settings name: usually one
 * for each MPI process. */
int blastoff_blocks_devices(void);

/* One line on the latest error of this thread: what was asked and why that is not possible. "" before the first. Valid
 * until the next call of this thread. */
const char* blastoff_blocks_message(void);

/* How blocks work; the defaults of switches are 1, of sizes 0. For measuring what each of them is worth. */
typedef struct blastoff_blocks_options {
  int intents; /* 1: as the program says. 0: every acquisition is an update */
  int pinned;  /* 1: the host memory of blocks is page-locked, so that copies are fast and asynchronous. 0: plain */
  int pooled;  /* 1: memory that was freed serves later blocks of about its size. 0: every block allocates */
  int asynchronous;     /* 1: copies are waited for where their data is used. 0: where they are started */
  size_t device_memory; /* bytes that blocks may hold on each device; 0: as much as there is */
  size_t pinned_memory; /* bytes of page-locked memory in blocks and their pool; 0: half of the main memory. What does
                           not fit is plain */
  int direct; /* messages (blastoff_blocks_mpi.h): 1: from and into device memory; 0: through the host; -1, the default:
                 as the MPI can. Copies between two devices of the process are through the host where it is 0, else
                 direct if the devices can */
} blastoff_blocks_options;

/* The options in force. */
int blastoff_blocks_get_options(blastoff_blocks_options* options);
/* Holds for everything that comes later; memory that is allocated stays as it is. */
int blastoff_blocks_set_options(const blastoff_blocks_options* options);

/* What blocks have done in this process so far. */
typedef struct blastoff_blocks_counters {
  unsigned long long acquisitions, found_current; /* in all; of these, those that needed no copy */
  unsigned long long copies_to_device, bytes_to_device;
  unsigned long long copies_from_device, bytes_from_device;
  unsigned long long copies_between_devices, bytes_between_devices; /* directly, without the host */
  unsigned long long evictions, evicted_bytes; /* from devices whose memory was short, or by blastoff_block_evict() */
  unsigned long long contractions;
  double flops;           /* of contractions */
  double waiting_seconds; /* in which threads waited for copies and for work on devices */
  /* Host memory of blocks, and device memory. A hit is served by what was freed before. */
  unsigned long long host_hits, host_misses, host_bytes; /* bytes: allocated now, in use or in the pool */
  double host_seconds;                                   /* spent allocating and freeing */
  unsigned long long host_plain; /* allocations that should have been page-locked, but are not */
  unsigned long long device_hits, device_misses, device_bytes;
  double device_seconds;
} blastoff_blocks_counters;

int blastoff_blocks_get_counters(blastoff_blocks_counters* counters);

/* Waits until all copies and contractions have run. The first error among them. */
int blastoff_blocks_synchronize(void);

/* Gives back the memory that is kept for later blocks, on the host and on devices. */
int blastoff_blocks_trim(void);

/* ---- Blocks ----------------------------------------------------------------------------------------------------- */

/* A block of so many bytes (at least 1), with memory of its own, allocated where and when it is needed: page-locked on
 * the host. Addresses are multiples of 256. Nothing is there until it is written. */
int blastoff_block_create(size_t bytes, blastoff_block** block);

/* A block over the program's own memory, which is its host version and must stay there until the block is destroyed.
 * The program may write this memory without acquiring it while no device holds the block for writing and the host
 * version is the newest (after it was acquired on the host): pages written meanwhile are found out and copied at the
 * next use on a device. Where the system cannot tell what was written (shared memory, files, old kernels), all of it is
 * copied at each such use. Two blocks must not share bytes. */
int blastoff_block_create_over(void* memory, size_t bytes, blastoff_block** block);

/* Ends a block, which nobody may hold. Of one over the program's memory, the newest version is brought home first; if
 * that fails, the block is ended all the same. Does not wait for work that was released with a stream. NULL is allowed.
 */
int blastoff_block_destroy(blastoff_block* block);

size_t blastoff_block_bytes(const blastoff_block* block);

/* Brings the newest version to `place`, and stores its address there. The address is valid until the release.
 * `stream`: a CUstream or cudaStream_t of that device on which the block will be used: work that is queued there
 * afterwards finds the version; the call does not wait. NULL: the call waits until the version is there, and the caller
 * may use it at once. (For the default stream pass cudaStreamLegacy or cudaStreamPerThread.) On the host: NULL.
 * BLASTOFF_CONFLICT: someone holds the block for writing, or holds it at all and `access` is not BLASTOFF_READ; nobody
 * is waited for. The same if the program wrote its memory under the block while the newest version was on a device. */
int blastoff_block_acquire(blastoff_block* block, int place, enum blastoff_access access, void* stream, void** address);

/* Ends one acquisition at that place. `stream`: work queued there so far may still use the block; whoever uses it next
 * waits for that work. NULL: the caller's work has ended. After BLASTOFF_DEVICE_LOST it is no longer held. */
int blastoff_block_release(blastoff_block* block, int place, void* stream);

/* Starts to bring the newest version to a place where it will be used soon. Does not wait. A hint:
 * BLASTOFF_OUT_OF_MEMORY and BLASTOFF_CONFLICT (somebody writes it) may be ignored. */
int blastoff_block_prefetch(blastoff_block* block, int place);

/* The block will not be used at that place soon: its memory there is given back, after the newest version has been
 * brought home if it was there alone. Nobody may hold it there. Without the call, the blocks that were used longest ago
 * go when the memory of a device is short. */
int blastoff_block_evict(blastoff_block* block, int place);

/* 1: the newest version is at that place, or on its way; 0: not, or there is no such place. */
int blastoff_block_is_current(blastoff_block* block, int place);

/* Where the newest version can be read without a copy: a device if one has it, else BLASTOFF_HOST. (For sending it to
 * another process, for example.) BLASTOFF_HOST too if nothing was written yet. */
int blastoff_block_newest(blastoff_block* block);

/* ---- Parts, for transfers --------------------------------------------------------------------------------------- */

/* What follows is for libraries that move blocks to other processes or to files; blastoff_blocks_mpi.h is made of it.
 * While one part is on its way there, the next is copied from a device, or to it. */

/* As blastoff_block_acquire() on the host for reading, but returns when the copies of parts have started: the bytes
 * before `end` can be used after blastoff_block_await_part(block, end), and all of them after the block's last part. */
int blastoff_block_acquire_parts(blastoff_block* block, size_t part_bytes, void** address);
int blastoff_block_await_part(blastoff_block* block, size_t end);

/* The caller holds the block for writing on the host, and has written these bytes for good: they start for `place`.
 * Those that were not forwarded when the block is released are copied when they are used. A hint; does not wait. */
int blastoff_block_forward_part(blastoff_block* block, int place, size_t offset, size_t bytes);

/* Ends an acquisition for writing that has failed: the block has no content then. */
int blastoff_block_abandon(blastoff_block* block, int place);

/* Makes a device's context the current one of this thread until blastoff_blocks_leave(), as libraries expect it that
 * are handed addresses of device memory. On the host both do nothing. */
int blastoff_blocks_enter(int place);
void blastoff_blocks_leave(int place);

/* Sets blastoff_blocks_message() of this thread, and returns `status`. */
int blastoff_blocks_fail(int status, const char* message);

/* ---- Tensor contraction ----------------------------------------------------------------------------------------- */

enum blastoff_type { BLASTOFF_FLOAT = 0, BLASTOFF_DOUBLE = 1, BLASTOFF_COMPLEX_FLOAT = 2, BLASTOFF_COMPLEX_DOUBLE = 3 };

/* A block as a tensor. Each letter of `labels` names an index, the first one is contiguous in memory (as in Fortran);
 * `extents` has the length of each. "" is a scalar. */
typedef struct blastoff_tensor {
  blastoff_block* block;
  const char* labels;
  const long long* extents;
} blastoff_tensor;

/* C = alpha A B + beta C on `place`: indices of A and B that C does not have are summed over. So
 *   A "ij", B "jk", C "ik"            is a matrix product,
 *   A "abcd", B "cdij", C "abij"      a particle-particle ladder.
 * Every index occurs in exactly two of the three, with the same length, and at most once in each; at most 8 in each.
 * `alpha` and `beta` point to numbers of that type. If *beta is 0, C is only written. Complex numbers are not
 * conjugated. On a device the work is queued: use the blocks as after a release. A matrix product of a library does the
 * arithmetic; tensors whose indices are not in its order are permuted first, in memory of the pool. */
int blastoff_block_contract(enum blastoff_type type, const void* alpha, const blastoff_tensor* a,
                            const blastoff_tensor* b, const void* beta, const blastoff_tensor* c, int place);

#ifdef __cplusplus
}
#endif

#endif
