/* Blocks and MPI (docs/blocks.md, "MPI"): messages, broadcasts and one-sided transfers of the newest version of a
 * block, wherever it is. The functions of this file are compiled with the program, for the program's MPI library.
 * libblastoff.so itself uses no MPI.
 *
 *   blastoff_block_send(block, 1, tag, MPI_COMM_WORLD);          // of rank 0
 *   blastoff_block_receive(block, 0, 0, tag, MPI_COMM_WORLD);    // of rank 1, to its first device
 *
 * If the MPI takes addresses of device memory (asked at run time; blastoff_blocks_options.direct overrides it),
 * messages go from device to device. Otherwise they go through the page-locked memory of the block, in parts: while one
 * part is sent or received, the next is copied from or to the device.
 *
 * A block is sent as a header and messages of BLASTOFF_MPI_PART_BYTES bytes; the last message has the rest. So two
 * threads that send to one process at the same time need different tags or communicators. Sizes are not limited by
 * MPI's int. The blocks on both sides must have the same size. As in MPI, every process must reach its part of a
 * transfer: after an error in one process, the others may wait forever, unless that process calls MPI_Abort().
 *
 * A process that sends reads the block, and a process that receives writes it, as blastoff_block_acquire() describes.
 * Functions return when the block can be used again, with the statuses of blastoff_blocks.h. MPI's own errors are
 * handled by the error handler of the communicator, which ends the program unless it was changed; if it was changed,
 * the functions return BLASTOFF_COMMUNICATION. After an error, a block that was to be written has no content. */
#ifndef BLASTOFF_BLOCKS_MPI_H
#define BLASTOFF_BLOCKS_MPI_H

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "blastoff_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of one message, below 2 GiB. Smaller messages make the first and the last copy shorter, which nothing overlaps.
 * Larger ones make fewer messages. */
#ifndef BLASTOFF_MPI_PART_BYTES
#define BLASTOFF_MPI_PART_BYTES ((size_t)4 << 20)
#endif

/* Returns 1 if messages go from and to the memory of devices. */
static inline int blastoff_mpi_direct(void);

/* Sends the newest version to rank `destination`. */
static inline int blastoff_block_send(blastoff_block* block, int destination, int tag, MPI_Comm comm);

/* Receives a block of the same size. The new version is then on `place`: BLASTOFF_HOST or the device that uses it.
 * `source` and `tag` may be MPI_ANY_SOURCE and MPI_ANY_TAG. */
static inline int blastoff_block_receive(blastoff_block* block, int place, int source, int tag, MPI_Comm comm);

/* Copies the newest version of `root`'s block to the blocks of all ranks. Collective. Each rank passes its own `place`;
 * the root's is ignored. */
static inline int blastoff_block_bcast(blastoff_block* block, int place, int root, MPI_Comm comm);

/* Memory of all processes from which blocks can be fetched, and to which they can be put, without the other process
 * taking part. It consists of slots; each process may have any number of them. A slot keeps a copy of what was put
 * there, so the blocks can be used meanwhile. Gets and puts go through page-locked memory even if messages go directly
 * between devices, because hardly any MPI has one-sided transfers of device memory. (Across nodes whose network cannot
 * write to memory by itself, a transfer only proceeds while the other process is inside MPI. Within a node it needs no
 * other process.) */
typedef struct blastoff_window blastoff_window;

/* Creates the slots of all processes. Collective. `bytes`: the size of each of the `count` slots of this process, in
 * main memory. The slots are empty. */
static inline int blastoff_window_create(const size_t* bytes, int count, MPI_Comm comm, blastoff_window** window);
/* Separates puts from gets: data that were put before are what every process gets afterwards. Collective. */
static inline int blastoff_window_fence(blastoff_window* window);
/* Frees the slots. Collective. NULL is allowed (on all processes). */
static inline int blastoff_window_destroy(blastoff_window* window);

/* Copies the newest version of the block to a slot of the same size. Between two fences, nobody else may put to this
 * slot or get from it. */
static inline int blastoff_block_put(blastoff_block* block, blastoff_window* window, int rank, int slot);
/* Copies the content of a slot to the block, on `place`. Between two fences, nobody may put to this slot. */
static inline int blastoff_block_get(blastoff_block* block, int place, blastoff_window* window, int rank, int slot);

/* ---- Implementation -----------------------------------------------------------------------------------------------
 */

/* Functions of MPIs that know device memory. */
#if defined(__GNUC__)
int MPIX_Query_cuda_support(void) __attribute__((weak));
#endif

static inline int blastoff_mpi_direct(void) {
  blastoff_blocks_options options;
  if (blastoff_blocks_get_options(&options) != BLASTOFF_OK) return 0;
  if (options.direct >= 0) return options.direct;
#if defined(__GNUC__)
  return MPIX_Query_cuda_support != NULL && MPIX_Query_cuda_support() == 1;
#else
  return 0;
#endif
}

/* Returns the status for the result of an MPI function. */
static inline int blastoff_mpi_status_(int result, const char* function) {
  char text[MPI_MAX_ERROR_STRING + 64], reason[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (result == MPI_SUCCESS) return BLASTOFF_OK;
  reason[0] = '\0';
  MPI_Error_string(result, reason, &length);
  snprintf(text, sizeof text, "%s: %s", function, reason);
  return blastoff_blocks_fail(BLASTOFF_COMMUNICATION, text);
}

/* How many parts of a block are in transfer at a time. */
#define BLASTOFF_MPI_AHEAD_ 8

enum blastoff_transfer_kind_ { BLASTOFF_MESSAGE_, BLASTOFF_BROADCAST_, BLASTOFF_ONE_SIDED_ };

/* One transfer. Parts are started in order, and completed in order. */
typedef struct blastoff_transfer_ {
  enum blastoff_transfer_kind_ kind;
  MPI_Comm comm;
  int rank, tag; /* rank and tag of the other process; in a broadcast, the rank of the root */
  MPI_Win window;
  MPI_Aint displacement; /* of the slot, in bytes */
  char* address;         /* of the block's memory */
  size_t bytes, part_bytes;
  /* Sent before the parts, unless the transfer is one-sided: bytes of the block, and bytes of a part. So a block is
   * never assembled from parts of another block. */
  uint64_t header[2];
  MPI_Request announced;
  MPI_Request requests[BLASTOFF_MPI_AHEAD_];
  /* Starts a part. Returns the result of the MPI function. */
  int (*start)(struct blastoff_transfer_* transfer, size_t offset, int count, MPI_Request* request);
  const char* function; /* the name of that MPI function */
} blastoff_transfer_;

static inline void blastoff_prepare_(blastoff_transfer_* transfer, enum blastoff_transfer_kind_ kind,
                                     const blastoff_block* block) {
  int i;
  transfer->kind = kind;
  transfer->bytes = blastoff_block_bytes(block);
  transfer->part_bytes = BLASTOFF_MPI_PART_BYTES;
  transfer->announced = MPI_REQUEST_NULL;
  for (i = 0; i < BLASTOFF_MPI_AHEAD_; ++i) transfer->requests[i] = MPI_REQUEST_NULL;
}

static inline size_t blastoff_parts_(const blastoff_transfer_* transfer) {
  return (transfer->bytes - 1) / transfer->part_bytes + 1;
}

/* Returns the offset behind a part. */
static inline size_t blastoff_part_end_(const blastoff_transfer_* transfer, size_t part) {
  return part + 1 < blastoff_parts_(transfer) ? (part + 1) * transfer->part_bytes : transfer->bytes;
}

static inline int blastoff_start_part_(blastoff_transfer_* transfer, size_t part) {
  const size_t offset = part * transfer->part_bytes;
  return blastoff_mpi_status_(transfer->start(transfer, offset, (int)(blastoff_part_end_(transfer, part) - offset),
                                              &transfer->requests[part % BLASTOFF_MPI_AHEAD_]),
                              transfer->function);
}

/* Waits until a part has arrived, or may be overwritten. */
static inline int blastoff_finish_part_(blastoff_transfer_* transfer, size_t part) {
  return blastoff_mpi_status_(MPI_Wait(&transfer->requests[part % BLASTOFF_MPI_AHEAD_], MPI_STATUS_IGNORE), "MPI_Wait");
}

/* Ends a transfer after an error. Nothing uses the memory any more. */
static inline void blastoff_give_up_(blastoff_transfer_* transfer, int receives) {
  int i;
  for (i = 0; i < BLASTOFF_MPI_AHEAD_; ++i) {
    if (transfer->requests[i] == MPI_REQUEST_NULL) continue;
    if (receives && transfer->kind == BLASTOFF_MESSAGE_) MPI_Cancel(&transfer->requests[i]);
    MPI_Wait(&transfer->requests[i], MPI_STATUS_IGNORE);
  }
}

/* Sends the header: the sizes of the block and of a part. */
static inline int blastoff_announce_(blastoff_transfer_* transfer) {
  transfer->header[0] = transfer->bytes;
  transfer->header[1] = transfer->part_bytes;
  switch (transfer->kind) {
    case BLASTOFF_MESSAGE_:
      return blastoff_mpi_status_(MPI_Isend(transfer->header, 2, MPI_UINT64_T, transfer->rank, transfer->tag,
                                            transfer->comm, &transfer->announced),
                                  "MPI_Isend");
    case BLASTOFF_BROADCAST_:
      return blastoff_mpi_status_(MPI_Bcast(transfer->header, 2, MPI_UINT64_T, transfer->rank, transfer->comm),
                                  "MPI_Bcast");
    case BLASTOFF_ONE_SIDED_: break;
  }
  return BLASTOFF_OK;
}

/* Receives the header, and learns who sends it. */
static inline int blastoff_await_announcement_(blastoff_transfer_* transfer) {
  char text[160];
  MPI_Status status;
  int result = BLASTOFF_OK, count = 2;
  switch (transfer->kind) {
    case BLASTOFF_MESSAGE_:
      result = blastoff_mpi_status_(
          MPI_Recv(transfer->header, 2, MPI_UINT64_T, transfer->rank, transfer->tag, transfer->comm, &status),
          "MPI_Recv");
      if (result != BLASTOFF_OK) return result;
      MPI_Get_count(&status, MPI_UINT64_T, &count);
      transfer->rank = status.MPI_SOURCE;
      transfer->tag = status.MPI_TAG;
      break;
    case BLASTOFF_BROADCAST_:
      result = blastoff_mpi_status_(MPI_Bcast(transfer->header, 2, MPI_UINT64_T, transfer->rank, transfer->comm),
                                    "MPI_Bcast");
      if (result != BLASTOFF_OK) return result;
      break;
    case BLASTOFF_ONE_SIDED_: return BLASTOFF_OK;
  }
  if (count != 2 || transfer->header[1] == 0 || transfer->header[1] > INT_MAX)
    return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, "a message that is no block was received as one");
  transfer->part_bytes = (size_t)transfer->header[1];
  if (transfer->header[0] == transfer->bytes) return BLASTOFF_OK;
  snprintf(text, sizeof text, "a block of %llu bytes was sent to one of %llu; both must have the same size",
           (unsigned long long)transfer->header[0], (unsigned long long)transfer->bytes);
  return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, text);
}

/* Sends the parts of a block that is held for reading on `place`. */
static inline int blastoff_give_parts_(blastoff_block* block, int place, blastoff_transfer_* transfer) {
  const size_t parts = blastoff_parts_(transfer);
  size_t part, finished = 0;
  int result = blastoff_announce_(transfer);
  for (part = 0; part < parts && result == BLASTOFF_OK; ++part) {
    if (part >= BLASTOFF_MPI_AHEAD_) result = blastoff_finish_part_(transfer, finished++);
    if (result == BLASTOFF_OK && place == BLASTOFF_HOST)
      result = blastoff_block_await_part(block, blastoff_part_end_(transfer, part));
    if (result == BLASTOFF_OK) result = blastoff_start_part_(transfer, part);
  }
  while (finished < parts && result == BLASTOFF_OK) result = blastoff_finish_part_(transfer, finished++);
  if (result == BLASTOFF_OK) return blastoff_mpi_status_(MPI_Wait(&transfer->announced, MPI_STATUS_IGNORE), "MPI_Wait");
  blastoff_give_up_(transfer, 0);
  MPI_Wait(&transfer->announced, MPI_STATUS_IGNORE);
  return result;
}

/* Receives the parts of a block that is held for writing on `held` and needed on `place`. */
static inline int blastoff_take_parts_(blastoff_block* block, int held, int place, blastoff_transfer_* transfer) {
  size_t part, parts = 0, started = 0;
  int result = blastoff_await_announcement_(transfer);
  if (result == BLASTOFF_OK) parts = blastoff_parts_(transfer);
  for (part = 0; part < parts && result == BLASTOFF_OK; ++part) {
    const size_t offset = part * transfer->part_bytes;
    while (started < parts && started < part + BLASTOFF_MPI_AHEAD_ && result == BLASTOFF_OK)
      result = blastoff_start_part_(transfer, started++);
    if (result == BLASTOFF_OK) result = blastoff_finish_part_(transfer, part);
    /* If the device is short of memory, the version stays on the host until it is used. */
    if (result == BLASTOFF_OK && place != held)
      (void)blastoff_block_forward_part(block, place, offset, blastoff_part_end_(transfer, part) - offset);
  }
  if (result != BLASTOFF_OK) blastoff_give_up_(transfer, 1);
  return result;
}

/* Returns the place whose context must be current during a transfer that holds the block on `place`. An MPI that takes
 * device memory looks at the context at every message. Open MPI gives up CUDA IPC between two processes for good if it
 * sees no context, even for a header. */
static inline int blastoff_context_(int place) {
  return place == BLASTOFF_HOST && blastoff_blocks_devices() > 0 && blastoff_mpi_direct() ? 0 : place;
}

/* Transfers a block as the sender, the putter, or the root of a broadcast. `direct`: from device memory, if the newest
 * version is there. */
static inline int blastoff_transfer_from_(blastoff_block* block, blastoff_transfer_* transfer, int direct) {
  const int place = direct ? blastoff_block_newest(block) : BLASTOFF_HOST;
  const int context = blastoff_context_(place);
  void* address;
  int result = place == BLASTOFF_HOST ? blastoff_block_acquire_parts(block, BLASTOFF_MPI_PART_BYTES, &address)
                                      : blastoff_block_acquire(block, place, BLASTOFF_READ, NULL, &address);
  if (result != BLASTOFF_OK) return result;
  transfer->address = (char*)address;
  result = blastoff_blocks_enter(context);
  if (result == BLASTOFF_OK) {
    result = blastoff_give_parts_(block, place, transfer);
    blastoff_blocks_leave(context);
  }
  (void)blastoff_block_release(block, place, NULL);
  return result;
}

/* Transfers a block as the receiver, the getter, or a rank of a broadcast that is not the root. `direct`: into device
 * memory. */
static inline int blastoff_transfer_to_(blastoff_block* block, int place, blastoff_transfer_* transfer, int direct) {
  const int held = direct ? place : BLASTOFF_HOST;
  const int context = blastoff_context_(held);
  char text[80];
  void* address;
  int result;
  if (place < BLASTOFF_HOST || place >= blastoff_blocks_devices()) {
    snprintf(text, sizeof text, "there is no place %d: BLASTOFF_HOST is -1, there are %d devices", place,
             blastoff_blocks_devices());
    return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, text);
  }
  result = blastoff_block_acquire(block, held, BLASTOFF_WRITE, NULL, &address);
  if (result != BLASTOFF_OK) return result;
  transfer->address = (char*)address;
  result = blastoff_blocks_enter(context);
  if (result == BLASTOFF_OK) {
    result = blastoff_take_parts_(block, held, place, transfer);
    blastoff_blocks_leave(context);
  }
  if (result == BLASTOFF_OK) return blastoff_block_release(block, held, NULL);
  (void)blastoff_block_abandon(block, held);
  return result;
}

static inline int blastoff_isend_(blastoff_transfer_* to, size_t offset, int count, MPI_Request* request) {
  return MPI_Isend(to->address + offset, count, MPI_BYTE, to->rank, to->tag, to->comm, request);
}

static inline int blastoff_irecv_(blastoff_transfer_* from, size_t offset, int count, MPI_Request* request) {
  return MPI_Irecv(from->address + offset, count, MPI_BYTE, from->rank, from->tag, from->comm, request);
}

static inline int blastoff_ibcast_(blastoff_transfer_* among, size_t offset, int count, MPI_Request* request) {
  return MPI_Ibcast(among->address + offset, count, MPI_BYTE, among->rank, among->comm, request);
}

static inline int blastoff_rput_(blastoff_transfer_* to, size_t offset, int count, MPI_Request* request) {
  return MPI_Rput(to->address + offset, count, MPI_BYTE, to->rank, to->displacement + (MPI_Aint)offset, count, MPI_BYTE,
                  to->window, request);
}

static inline int blastoff_rget_(blastoff_transfer_* from, size_t offset, int count, MPI_Request* request) {
  return MPI_Rget(from->address + offset, count, MPI_BYTE, from->rank, from->displacement + (MPI_Aint)offset, count,
                  MPI_BYTE, from->window, request);
}

static inline int blastoff_block_send(blastoff_block* block, int destination, int tag, MPI_Comm comm) {
  blastoff_transfer_ transfer;
  blastoff_prepare_(&transfer, BLASTOFF_MESSAGE_, block);
  transfer.comm = comm;
  transfer.rank = destination;
  transfer.tag = tag;
  transfer.start = blastoff_isend_;
  transfer.function = "MPI_Isend";
  return blastoff_transfer_from_(block, &transfer, blastoff_mpi_direct());
}

static inline int blastoff_block_receive(blastoff_block* block, int place, int source, int tag, MPI_Comm comm) {
  blastoff_transfer_ transfer;
  blastoff_prepare_(&transfer, BLASTOFF_MESSAGE_, block);
  transfer.comm = comm;
  transfer.rank = source;
  transfer.tag = tag;
  transfer.start = blastoff_irecv_;
  transfer.function = "MPI_Irecv";
  return blastoff_transfer_to_(block, place, &transfer, blastoff_mpi_direct());
}

static inline int blastoff_block_bcast(blastoff_block* block, int place, int root, MPI_Comm comm) {
  blastoff_transfer_ transfer;
  int rank = 0;
  const int result = blastoff_mpi_status_(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  if (result != BLASTOFF_OK) return result;
  blastoff_prepare_(&transfer, BLASTOFF_BROADCAST_, block);
  transfer.comm = comm;
  transfer.rank = root;
  transfer.start = blastoff_ibcast_;
  transfer.function = "MPI_Ibcast";
  return rank == root ? blastoff_transfer_from_(block, &transfer, blastoff_mpi_direct())
                      : blastoff_transfer_to_(block, place, &transfer, blastoff_mpi_direct());
}

struct blastoff_window {
  MPI_Comm comm;
  MPI_Win window;
  int ranks;
  int* first;     /* for each rank, the number of its first slot among all slots; one more element for the end */
  uint64_t* ends; /* for each slot, its last byte plus one in the memory of its process */
};

static inline void blastoff_window_free_(blastoff_window* window) {
  free(window->first);
  free(window->ends);
  free(window);
}

/* Every slot begins at a multiple of this many bytes. */
#define BLASTOFF_MPI_SLOT_ 256
static inline uint64_t blastoff_slot_begin_(const blastoff_window* window, int rank, int slot) {
  const uint64_t before = slot == 0 ? 0 : window->ends[window->first[rank] + slot - 1];
  return (before + BLASTOFF_MPI_SLOT_ - 1) / BLASTOFF_MPI_SLOT_ * BLASTOFF_MPI_SLOT_;
}

/* Tells all ranks the slots of all ranks. */
static inline int blastoff_window_share_(blastoff_window* window, const size_t* bytes, int count, int* counts) {
  int rank, own, slot;
  int result =
      blastoff_mpi_status_(MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, window->comm), "MPI_Allgather");
  if (result != BLASTOFF_OK) return result;
  window->first[0] = 0;
  for (rank = 0; rank < window->ranks; ++rank) window->first[rank + 1] = window->first[rank] + counts[rank];
  window->ends = (uint64_t*)malloc(((size_t)window->first[window->ranks] + 1) * sizeof *window->ends);
  if (window->ends == NULL) return blastoff_blocks_fail(BLASTOFF_OUT_OF_MEMORY, "no memory for what is known of slots");
  MPI_Comm_rank(window->comm, &own);
  for (slot = 0; slot < count; ++slot)
    window->ends[window->first[own] + slot] = blastoff_slot_begin_(window, own, slot) + bytes[slot];
  return blastoff_mpi_status_(
      MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_UINT64_T, window->ends, counts, window->first, MPI_UINT64_T, window->comm),
      "MPI_Allgatherv");
}

static inline int blastoff_window_create(const size_t* bytes, int count, MPI_Comm comm, blastoff_window** window) {
  blastoff_window* made;
  int* counts;
  int result, own = 0, ranks = 0;
  void* memory = NULL;
  *window = NULL;
  if (count < 0 || (count > 0 && bytes == NULL))
    return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, "a window of less than 0 slots, or of slots without sizes");
  result = blastoff_mpi_status_(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  if (result != BLASTOFF_OK) return result;
  MPI_Comm_rank(comm, &own);
  made = (blastoff_window*)calloc(1, sizeof *made);
  counts = (int*)malloc((size_t)ranks * sizeof *counts);
  if (made != NULL) made->first = (int*)malloc(((size_t)ranks + 1) * sizeof *made->first);
  if (made == NULL || counts == NULL || made->first == NULL) {
    free(counts);
    if (made != NULL) blastoff_window_free_(made);
    return blastoff_blocks_fail(BLASTOFF_OUT_OF_MEMORY, "no memory for what is known of slots");
  }
  made->comm = comm;
  made->ranks = ranks;
  result = blastoff_window_share_(made, bytes, count, counts);
  free(counts);
  if (result == BLASTOFF_OK)
    result = blastoff_mpi_status_(MPI_Win_allocate((MPI_Aint)blastoff_slot_begin_(made, own, count), 1, MPI_INFO_NULL,
                                                   comm, &memory, &made->window),
                                  "MPI_Win_allocate");
  if (result == BLASTOFF_OK)
    result = blastoff_mpi_status_(MPI_Win_lock_all(MPI_MODE_NOCHECK, made->window), "MPI_Win_lock_all");
  if (result != BLASTOFF_OK) {
    blastoff_window_free_(made);
    return result;
  }
  *window = made;
  return BLASTOFF_OK;
}

static inline int blastoff_window_fence(blastoff_window* window) {
  int result = blastoff_mpi_status_(MPI_Win_flush_all(window->window), "MPI_Win_flush_all");
  if (result == BLASTOFF_OK) result = blastoff_mpi_status_(MPI_Win_sync(window->window), "MPI_Win_sync");
  if (result == BLASTOFF_OK) result = blastoff_mpi_status_(MPI_Barrier(window->comm), "MPI_Barrier");
  return result == BLASTOFF_OK ? blastoff_mpi_status_(MPI_Win_sync(window->window), "MPI_Win_sync") : result;
}

static inline int blastoff_window_destroy(blastoff_window* window) {
  int result;
  if (window == NULL) return BLASTOFF_OK;
  result = blastoff_mpi_status_(MPI_Win_unlock_all(window->window), "MPI_Win_unlock_all");
  if (result == BLASTOFF_OK) result = blastoff_mpi_status_(MPI_Win_free(&window->window), "MPI_Win_free");
  blastoff_window_free_(window);
  return result;
}

/* Prepares a transfer to or from that slot. */
static inline int blastoff_at_slot_(blastoff_transfer_* transfer, const blastoff_block* block,
                                    const blastoff_window* window, int rank, int slot) {
  char text[160];
  const size_t bytes = blastoff_block_bytes(block);
  uint64_t begin, end;
  if (rank < 0 || rank >= window->ranks || slot < 0 || slot >= window->first[rank + 1] - window->first[rank]) {
    snprintf(text, sizeof text, "there is no slot %d of rank %d", slot, rank);
    return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, text);
  }
  begin = blastoff_slot_begin_(window, rank, slot);
  end = window->ends[window->first[rank] + slot];
  if (end - begin != bytes) {
    snprintf(text, sizeof text, "slot %d of rank %d has %llu bytes, the block %llu; both must be the same", slot, rank,
             (unsigned long long)(end - begin), (unsigned long long)bytes);
    return blastoff_blocks_fail(BLASTOFF_BAD_ARGUMENT, text);
  }
  blastoff_prepare_(transfer, BLASTOFF_ONE_SIDED_, block);
  transfer->rank = rank;
  transfer->window = window->window;
  transfer->displacement = (MPI_Aint)begin;
  return BLASTOFF_OK;
}

static inline int blastoff_block_put(blastoff_block* block, blastoff_window* window, int rank, int slot) {
  blastoff_transfer_ transfer;
  int result = blastoff_at_slot_(&transfer, block, window, rank, slot);
  if (result != BLASTOFF_OK) return result;
  transfer.start = blastoff_rput_;
  transfer.function = "MPI_Rput";
  result = blastoff_transfer_from_(block, &transfer, 0);
  if (result != BLASTOFF_OK) return result;
  return blastoff_mpi_status_(MPI_Win_flush(rank, window->window), "MPI_Win_flush");
}

static inline int blastoff_block_get(blastoff_block* block, int place, blastoff_window* window, int rank, int slot) {
  blastoff_transfer_ transfer;
  const int result = blastoff_at_slot_(&transfer, block, window, rank, slot);
  if (result != BLASTOFF_OK) return result;
  transfer.start = blastoff_rget_;
  transfer.function = "MPI_Rget";
  return blastoff_transfer_to_(block, place, &transfer, 0);
}

#ifdef __cplusplus
}
#endif

#endif
