// The functions of the program's own ScaLAPACK, BLACS and MPI that gathering calls. They are looked up, not linked.
#pragma once

#include <functional>
#include <optional>

#include "scalapack/call.h"

namespace blastoff::scalapack {

/// MPI's functions by their C names. Handles are addresses in Open MPI, and integers in MPICH and libraries with its
/// binary interface. All 64-bit systems pass both as words in the same way.
struct Mpi {
  int (*isend)(const void* buffer, int count, void* type, int to, int tag, void* communicator, void* request);
  int (*request_free)(void* request);
  int (*wait)(void* request, void* status);
  int (*iprobe)(int from, int tag, void* communicator, int* there, void* status);
  int (*receive)(void* buffer, int count, void* type, int from, int tag, void* communicator, void* status);
  int (*broadcast)(void* buffer, int count, void* type, int from, void* communicator);
  int (*gather)(const void* own, int count, void* type, void* all, int count_of_each, void* type_of_all, int to,
                void* communicator);
  int (*create_keyval)(void* copy, void* erase, int* key, void* extra);
  int (*set_attribute)(void* communicator, int key, void* value);
  int (*get_attribute)(void* communicator, int key, void* value, int* there);
  int (*duplicate)(void* communicator, void* duplicate);
  int (*split)(void* communicator, int part, int order, void* own_part);
  int (*free_communicator)(void* communicator);  ///< takes its address
  int (*finalized)(int* flag);
  void* byte;  ///< a type of one byte
};

struct Functions {
  void (*get)(int context, int what, int* value);
  void (*grid_info)(int context, int* rows, int* columns, int* row, int* column);
  void* (*communicator)(int handle);
  void (*free_handle)(int handle);
  int (*handle_of)(void* communicator);
  void (*grid_init)(int* context, const char* order, int rows, int columns);
  void (*grid_exit)(int context);
  /// p?gemr2d_ for the routine's element type.
  void (*redistribute)(const int* rows, const int* columns, void* from, const int* from_row, const int* from_column,
                       const Descriptor* from_layout, void* to, const int* to_row, const int* to_column,
                       const Descriptor* to_layout, const int* context);
  Mpi mpi;
};

using Find = std::function<void*(const char* symbol)>;

/// Nothing if one function is missing, or if the MPI library does not tell its types.
std::optional<Functions> find_functions(blas::Scalar scalar, const Find& find);

Grid grid_of(const Functions& functions, int context);

}  // namespace blastoff::scalapack
