#include "scalapack/functions.h"

#include <array>
#include <string_view>

namespace blastoff::scalapack {
namespace {

/// Returns MPI_BYTE; nullptr: the MPI library is not known.
void* byte_type(const Find& find) {
  if (void* const of_open_mpi = find("ompi_mpi_byte")) return of_open_mpi;
  using Describe = int (*)(char* text, int* length);
  const auto describe = reinterpret_cast<Describe>(find("MPI_Get_library_version"));
  if (describe == nullptr) return nullptr;
  std::array<char, 8192> text{};  // MPI_MAX_LIBRARY_VERSION_STRING
  int length = 0;
  describe(text.data(), &length);
  const std::string_view name(text.data());
  for (const std::string_view known : {"MPICH", "MVAPICH", "Intel(R) MPI"})
    if (name.find(known) != std::string_view::npos) return reinterpret_cast<void*>(0x4c00010dUL);
  return nullptr;
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
  look_up(all.least, "Cigamn2d");
  look_up(all.send_integers, "Cigebs2d");
  look_up(all.receive_integers, "Cigebr2d");
  constexpr std::array redistributions = {"psgemr2d_", "pdgemr2d_", "pcgemr2d_", "pzgemr2d_"};  // by blas::Scalar
  look_up(all.redistribute, redistributions[static_cast<std::size_t>(scalar)]);
  look_up(all.mpi.isend, "MPI_Isend");
  look_up(all.mpi.request_free, "MPI_Request_free");
  look_up(all.mpi.iprobe, "MPI_Iprobe");
  look_up(all.mpi.receive, "MPI_Recv");
  look_up(all.mpi.create_keyval, "MPI_Comm_create_keyval");
  look_up(all.mpi.set_attribute, "MPI_Comm_set_attr");
  look_up(all.mpi.get_attribute, "MPI_Comm_get_attr");
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
