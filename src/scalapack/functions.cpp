#include "scalapack/functions.h"

#include <array>

namespace blastoff::scalapack {
namespace {

/// MPI's interface for tools names the types of the library's own variables, so their handles need not be known. It
/// stays initialized: MPICH 4.0 loses its variables at the first MPI_T_finalize.
class Tools {
 public:
  explicit Tools(const Find& find) {
    look_up(find, begin_, "MPI_T_init_thread");
    look_up(find, thread_level_, "MPI_Query_thread");
    look_up(find, count_, "MPI_T_cvar_get_num");
    look_up(find, describe_, "MPI_T_cvar_get_info");
    look_up(find, size_, "MPI_Type_size");
  }

  /// The type of a variable whose type takes one byte: a character. nullptr: there is none.
  void* byte_type() const {
    int level = 0;
    int provided = 0;
    if (!complete_ || thread_level_(&level) != 0 || begin_(level, &provided) != 0) return nullptr;
    int variables = 0;
    void* found = nullptr;
    if (count_(&variables) == 0)
      for (int variable = 0; variable < variables && found == nullptr; ++variable) found = byte_type_of(variable);
    return found;
  }

 private:
  template <class Function>
  void look_up(const Find& find, Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(find(symbol));
    complete_ = complete_ && function != nullptr;
  }

  void* byte_type_of(int variable) const {
    int no_name = 0;
    int no_text = 0;
    int verbosity = 0;
    int binding = 0;
    int scope = 0;
    void* type = nullptr;
    void* enumeration = nullptr;
    if (describe_(variable, nullptr, &no_name, &verbosity, static_cast<void*>(&type), static_cast<void*>(&enumeration),
                  nullptr, &no_text, &binding, &scope) != 0)
      return nullptr;
    int bytes = 0;
    return type != nullptr && size_(type, &bytes) == 0 && bytes == 1 ? type : nullptr;
  }

  bool complete_ = true;
  int (*begin_)(int required, int* provided) = nullptr;
  int (*thread_level_)(int* level) = nullptr;
  int (*count_)(int* variables) = nullptr;
  int (*describe_)(int variable, char* name, int* name_length, int* verbosity, void* type, void* enumeration,
                   char* text, int* text_length, int* binding, int* scope) = nullptr;
  int (*size_)(void* type, int* bytes) = nullptr;
};

/// nullptr: the library does not tell. Open MPI's handles are addresses of its variables; its interface for tools would
/// load all of its components.
void* byte_type(const Find& find) {
  if (void* const of_open_mpi = find("ompi_mpi_byte")) return of_open_mpi;
  return Tools(find).byte_type();
}

}  // namespace

std::optional<Functions> find_functions(blas::Scalar scalar, const Find& find) {
  Functions all{};
  bool complete = true;
  const auto look_up = [&]<class Function>(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(find(symbol));
    complete = complete && function != nullptr;
  };
  look_up(all.get, "Cblacs_get");
  look_up(all.grid_info, "Cblacs_gridinfo");
  look_up(all.communicator, "Cblacs2sys_handle");
  look_up(all.free_handle, "Cfree_blacs_system_handle");
  look_up(all.handle_of, "Csys2blacs_handle");
  look_up(all.grid_init, "Cblacs_gridinit");
  look_up(all.grid_exit, "Cblacs_gridexit");
  constexpr std::array redistributions = {"psgemr2d_", "pdgemr2d_", "pcgemr2d_", "pzgemr2d_"};  // by blas::Scalar
  look_up(all.redistribute, redistributions[static_cast<std::size_t>(scalar)]);
  look_up(all.mpi.isend, "MPI_Isend");
  look_up(all.mpi.request_free, "MPI_Request_free");
  look_up(all.mpi.wait, "MPI_Wait");
  look_up(all.mpi.iprobe, "MPI_Iprobe");
  look_up(all.mpi.receive, "MPI_Recv");
  look_up(all.mpi.broadcast, "MPI_Bcast");
  look_up(all.mpi.gather, "MPI_Gather");
  look_up(all.mpi.create_keyval, "MPI_Comm_create_keyval");
  look_up(all.mpi.set_attribute, "MPI_Comm_set_attr");
  look_up(all.mpi.get_attribute, "MPI_Comm_get_attr");
  look_up(all.mpi.duplicate, "MPI_Comm_dup");
  look_up(all.mpi.split, "MPI_Comm_split");
  look_up(all.mpi.free_communicator, "MPI_Comm_free");
  look_up(all.mpi.finalized, "MPI_Finalized");
  if (!complete) return std::nullopt;
  all.mpi.byte = byte_type(find);
  if (all.mpi.byte == nullptr) return std::nullopt;
  return all;
}

Grid grid_of(const Functions& functions, int context) {
  Grid grid{.context = context};
  functions.grid_info(context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  return grid;
}

}  // namespace blastoff::scalapack
