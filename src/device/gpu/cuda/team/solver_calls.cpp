#include "device/gpu/cuda/team/solver_calls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace blastoff::device::gpu::cuda {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace

/// cuSOLVERMp solves eigenproblems and reduces them with lower triangles alone. Its LU factorizations are used for
/// square matrices.
bool is_solvers(const operation::Operation& operation) {
  if (!lapack::is_lapack(operation)) return false;
  const auto problem = operation.payload<lapack::Problem>();
  switch (problem.kind()) {
    case lapack::Kind::potrf:
    case lapack::Kind::potrs:
    case lapack::Kind::posv:
    case lapack::Kind::gesv: return true;
    case lapack::Kind::getrf: return problem.m == problem.n;
    case lapack::Kind::syevd: return problem.wants_vectors() && !problem.upper();
    case lapack::Kind::sygst: return problem.itype == 1 && !problem.upper();
    default: return false;
  }
}

Status SolverCalls::prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                            Space& space) {
  if (auto made = make_grid(); !made) return made;
  operation_ = operation;
  problem_ = operation.payload<lapack::Problem>();
  parts_.assign(parts.begin(), parts.end());
  block_ = block;
  forget_matrices();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const operation::Operand& whole = operation.operands()[i];
    const int made = library_.cusolverMpCreateMatrixDesc(&matrices_.emplace_back(), grid_, type(), whole.rows,
                                                         whole.columns, block, block, 0, 0, parts[i].leading_dimension);
    if (made != api::solver_success) return tl::unexpected(refused("cusolverMpCreateMatrixDesc", made));
  }
  if (auto taken = results_.take(vector_bytes() + vectors_bytes()); !taken) return taken;
  const int sized = call([&](const auto& size, auto*, const auto&... arguments) {
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    const int status = size(arguments..., type(), &device_bytes, &host_bytes);
    space.device_bytes = std::max(space.device_bytes, device_bytes);
    space.host_bytes = std::max(space.host_bytes, host_bytes);
    return status;
  });
  return sized == api::solver_success ? Status{} : tl::unexpected(refused("cuSOLVERMp's work space", sized));
}

Status SolverCalls::queue(Space& space) {
  const Driver& driver = place_.context->driver();
  if (vector_bytes() > 0) {
    const auto cleared = driver.set_bytes(results_.address(), 0, vector_bytes(), place_.stream);
    if (auto set = place_.context->check(cleared, "cuMemsetD8Async"); !set) return set;
  }
  std::size_t step = 0;
  Status waited;
  const int done = call([&](const auto&, auto* routine, const auto&... arguments) {
    // The steps share the work space.
    if (step > 0) waited = place_.context->check(driver.synchronize_stream(place_.stream), "cuStreamSynchronize");
    return waited ? routine(arguments..., type(), space.device(), space.device_bytes, space.host(), space.host_bytes,
                            space.info(step++))
                  : api::solver_success;
  });
  if (!waited) return waited;
  if (done != api::solver_success) return tl::unexpected(refused("cuSOLVERMp", done));
  if (vectors_bytes() == 0) return {};
  return place_.context->check(
      driver.copy_on_device(parts_[0].address, results_.address() + vector_bytes(), vectors_bytes(), place_.stream),
      "cuMemcpyDtoDAsync");
}

Status SolverCalls::take_results(const Space& space) {
  if (auto checked = check_matrices(space); !checked) return checked;
  if (problem_.kind() == lapack::Kind::syevd) return take_values();
  if (vector_bytes() == 0) return {};
  if (auto checked = check_diagonal(); !checked) return checked;
  return take_pivots();
}

/// All members make it together.
Status SolverCalls::make_grid() {
  if (grid_ != nullptr) return {};
  if (const int made = library_.cusolverMpCreate(&handle_, place_.ordinal, place_.stream); made != api::solver_success)
    return tl::unexpected(refused("cusolverMpCreate", made));
  const int made = library_.cusolverMpCreateDeviceGrid(handle_, &grid_, place_.communicator, 1, place_.members,
                                                       api::column_by_column);
  return made == api::solver_success ? Status{} : tl::unexpected(refused("cusolverMpCreateDeviceGrid", made));
}

void SolverCalls::forget_matrices() {
  for (api::solverMpMatrix matrix : matrices_)
    if (matrix != nullptr) library_.cusolverMpDestroyMatrixDesc(matrix);
  matrices_.clear();
}

/// Calls visit(size, routine, arguments...) for each step with the two functions of the routine, and the arguments
/// that they share, until one does not succeed.
template <class Visit>
int SolverCalls::call(const Visit& visit) const {
  constexpr api::Size first = 1;
  const api::Size n = problem_.n;
  const auto potrf = [&] {
    return visit(library_.cusolverMpPotrf_bufferSize, library_.cusolverMpPotrf, handle_, uplo(), n, part(0), first,
                 first, matrices_[0]);
  };
  const auto potrs = [&] {
    return visit(library_.cusolverMpPotrs_bufferSize, library_.cusolverMpPotrs, handle_, uplo(), n, problem_.k, part(0),
                 first, first, matrices_[0], part(1), first, first, matrices_[1]);
  };
  const auto getrf = [&] {
    return visit(library_.cusolverMpGetrf_bufferSize, library_.cusolverMpGetrf, handle_, n, n, part(0), first, first,
                 matrices_[0], pivots());
  };
  const auto getrs = [&] {
    return visit(library_.cusolverMpGetrs_bufferSize, library_.cusolverMpGetrs, handle_, api::operation_none, n,
                 problem_.k, part(0), first, first, matrices_[0], pivots(), part(1), first, first, matrices_[1]);
  };
  const auto both = [](const auto& factor, const auto& solve) {
    const int factored = factor();
    return factored == api::solver_success ? solve() : factored;
  };
  switch (problem_.kind()) {
    case lapack::Kind::potrf: return potrf();
    case lapack::Kind::potrs: return potrs();
    case lapack::Kind::posv: return both(potrf, potrs);
    case lapack::Kind::getrf: return getrf();
    case lapack::Kind::gesv: return both(getrf, getrs);
    case lapack::Kind::syevd: {
      char job = 'V';
      return visit(library_.cusolverMpSyevd_bufferSize, library_.cusolverMpSyevd, handle_, &job, uplo(), n, part(0),
                   first, first, matrices_[0], pointer(results_.address()),
                   pointer(results_.address() + vector_bytes()), first, first, matrices_[0]);
    }
    case lapack::Kind::sygst: {
      // The size does not depend on addresses.
      const auto size = [&](auto handle, int itype, int fill, auto order, const void*, auto row_a, auto column_a,
                            auto of_a, const void*, const auto&... rest) {
        return library_.cusolverMpSygst_bufferSize(handle, itype, fill, order, row_a, column_a, of_a, rest...);
      };
      return visit(size, library_.cusolverMpSygst, handle_, int{problem_.itype}, uplo(), n, part(0), first, first,
                   matrices_[0], part(1), first, first, matrices_[1]);
    }
    default: return api::solver_not_supported;
  }
}

/// Bytes of the pivots or eigenvalues on the device.
std::size_t SolverCalls::vector_bytes() const {
  const auto n = static_cast<std::size_t>(problem_.n);
  switch (problem_.kind()) {
    case lapack::Kind::getrf:
    case lapack::Kind::gesv: return aligned((n + static_cast<std::size_t>(block_)) * sizeof(std::int64_t));
    case lapack::Kind::syevd: return aligned(n * problem_.element_bytes());
    default: return 0;
  }
}

/// Bytes of this member's eigenvectors, which the library does not return in A.
std::size_t SolverCalls::vectors_bytes() const {
  if (problem_.kind() != lapack::Kind::syevd) return 0;
  return static_cast<std::size_t>(parts_[0].leading_dimension * parts_[0].columns) * problem_.element_bytes();
}

char* SolverCalls::vector(lapack::Argument argument) const {
  return static_cast<char*>(operation_.vectors()[lapack::vector_index(problem_.routine, argument)].address);
}

/// Calls visit(column, part, count) for the blocks of columns that this member has of a matrix: the first column of
/// each, where its first element lies, and how many there are.
template <class Visit>
void SolverCalls::each_block(const operation::Operand& whole, const Visit& visit) const {
  const TeamPart& part = parts_[static_cast<std::size_t>(&whole - operation_.operands().data())];
  for (std::int64_t own = 0; own < part.columns; own += block_) {
    const std::int64_t column = own * place_.members + place_.member * block_;
    const auto offset = static_cast<std::size_t>(own * part.leading_dimension) * whole.element_size;
    visit(column, operation::Operand{.address = pointer(part.address + offset),
                                     .rows = whole.rows,
                                     .columns = std::min(block_, part.columns - own),
                                     .leading_dimension = part.leading_dimension,
                                     .element_size = whole.element_size});
  }
}

/// What an operand's part says lies in the blocks: the elements outside a triangle may be anything.
Status SolverCalls::check_matrices(const Space& space) {
  if (magnitude_ == nullptr) {
    auto loaded = MagnitudeKernel::load(place_.context);
    if (!loaded) return tl::unexpected(loaded.error());
    magnitude_ = std::move(*loaded);
  }
  std::uint64_t largest = 0;
  const auto cleared = place_.context->driver().set_bytes(space.word(), 0, sizeof largest, place_.stream);
  Status status = place_.context->check(cleared, "cuMemsetD8Async");
  const auto look = [&](operation::Operand rows_of, std::int64_t first, std::int64_t count, operation::Part part) {
    if (!status || count <= 0 || rows_of.columns == 0) return;
    rows_of.address = static_cast<std::byte*>(rows_of.address) + static_cast<std::size_t>(first) * rows_of.element_size;
    rows_of.rows = count;
    rows_of.part = part;
    status = magnitude_->launch(rows_of, problem_.scalar(), space.word(), place_.stream);
  };
  for (const operation::Operand& whole : operation_.operands()) {
    if (!operation::writes(whole.intent)) continue;
    each_block(whole, [&](std::int64_t column, const operation::Operand& block) {
      const std::int64_t end = column + block.columns;
      if (whole.part == operation::Part::full) return look(block, 0, whole.rows, whole.part);
      look(block, column, block.columns, whole.part);
      if (whole.part == operation::Part::lower)
        look(block, end, whole.rows - end, operation::Part::full);
      else
        look(block, 0, column, operation::Part::full);
    });
  }
  if (!status) return status;
  if (auto copied = copy_to_host(&largest, space.word(), sizeof largest); !copied) return copied;
  if (std::isfinite(MagnitudeKernel::value(largest, problem_.scalar()))) return {};
  return tl::unexpected(Error{ErrorKind::failed, "the result holds NaN or infinity"});
}

/// Looks at the diagonal of U. A library that has found a zero there need not have said so.
Status SolverCalls::check_diagonal() const {
  const operation::Operand& whole = operation_.operands()[0];
  std::vector<std::byte> diagonal(static_cast<std::size_t>(parts_[0].columns) * whole.element_size);
  std::byte* next = diagonal.data();
  Status status;
  each_block(whole, [&](std::int64_t column, const operation::Operand& block) {
    RectangleCopy copy;
    copy.source_type = memory_type_device;
    copy.source =
        reinterpret_cast<std::uintptr_t>(block.address) + static_cast<std::size_t>(column) * block.element_size;
    copy.source_pitch = block.stride_bytes() + block.element_size;
    copy.destination_type = memory_type_host;
    copy.destination_host = next;
    copy.destination_pitch = copy.width_bytes = block.element_size;
    copy.height = static_cast<std::size_t>(block.columns);
    next += copy.height * copy.width_bytes;
    if (status)
      status = place_.context->check(place_.context->driver().copy_rectangle(&copy, place_.stream), "cuMemcpy2DAsync");
  });
  if (status) status = synchronize();
  if (!status) return status;
  const auto is_zero = [&]<class Real>(Real) {
    const auto* const reals = reinterpret_cast<const Real*>(diagonal.data());
    const std::size_t of_element = whole.element_size / sizeof(Real);
    for (std::size_t i = 0; i < diagonal.size() / sizeof(Real); i += of_element)
      if (std::all_of(reals + i, reals + i + of_element, [](Real part) { return part == 0; })) return true;
    return false;
  };
  const bool singular = problem_.real_bytes() == sizeof(float) ? is_zero(float{}) : is_zero(double{});
  return singular ? tl::unexpected(Error{ErrorKind::failed, "the matrix is singular"}) : Status{};
}

Status SolverCalls::take_values() const {
  if (place_.member != 0) return {};  // all have the same
  return copy_to_host(vector(lapack::Argument::w), results_.address(),
                      static_cast<std::size_t>(problem_.n) * problem_.real_bytes());
}

/// NVIDIA does not say whether a member gets the pivots of its own columns, as in its example, or of its rows, which
/// are all.
Status SolverCalls::take_pivots() const {
  std::vector<std::int64_t> found(static_cast<std::size_t>(problem_.n + block_));
  if (auto copied = copy_to_host(found.data(), results_.address(), found.size() * sizeof(std::int64_t)); !copied)
    return copied;
  const bool all = parts_[0].columns < problem_.n && found[static_cast<std::size_t>(parts_[0].columns)] != 0;
  const std::int64_t count = all ? problem_.n : parts_[0].columns;
  char* const returned = vector(lapack::Argument::ipiv);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = all ? i : (i / block_ * place_.members + place_.member) * block_ + i % block_;
    const std::int64_t pivot = found[static_cast<std::size_t>(i)];
    if (pivot <= row || pivot > problem_.n)
      return tl::unexpected(Error{ErrorKind::failed, fmt::format("pivot {} is {}", row + 1, pivot)});
    const auto narrow = static_cast<std::int32_t>(pivot);
    std::memcpy(returned + static_cast<std::size_t>(row) * sizeof narrow, &narrow, sizeof narrow);
  }
  return {};
}

Status SolverCalls::copy_to_host(void* host, Address address, std::size_t bytes) const {
  const auto copied = place_.context->driver().copy_to_host(host, address, bytes, place_.stream);
  if (auto queued = place_.context->check(copied, "cuMemcpyDtoHAsync"); !queued) return queued;
  return synchronize();
}

Status SolverCalls::synchronize() const {
  return place_.context->check(place_.context->driver().synchronize_stream(place_.stream), "cuStreamSynchronize");
}

}  // namespace blastoff::device::gpu::cuda
