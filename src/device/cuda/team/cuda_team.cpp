#include "device/cuda/team/cuda_team.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "blas/front_end.h"
#include "device/cuda/context.h"
#include "device/cuda/cublas/words.h"
#include "device/cuda/memory.h"
#include "device/cuda/team/library.h"
#include "lapack/problem.h"
#include "platform/threads.h"

namespace blastoff::device::cuda {
namespace {

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

bool is_products(const operation::Operation& operation) {
  if (!blas::is_blas(operation)) return false;
  const blas::Kind kind = blas::call_of(operation).kind();
  return kind == blas::Kind::gemm || kind == blas::Kind::trsm || kind == blas::Kind::syrk;
}

int data_type(blas::Scalar scalar) {
  switch (scalar) {
    case blas::Scalar::s: return api::type_real_32;
    case blas::Scalar::d: return api::type_real_64;
    case blas::Scalar::c: return api::type_complex_32;
    case blas::Scalar::z: break;
  }
  return api::type_complex_64;
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// Device memory that grows. Its contents are lost then.
class GrowingMemory {
 public:
  explicit GrowingMemory(Memory& memory) : memory_(memory) {}
  ~GrowingMemory() { give_back(); }
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  Status take(std::size_t bytes) {
    if (bytes <= taken_) return {};
    give_back();
    const Result<Address> taken = memory_.allocate(MemoryClient::workspaces, bytes);
    if (!taken) return tl::unexpected(taken.error());
    address_ = *taken;
    taken_ = bytes;
    return {};
  }
  Address address() const { return address_; }

 private:
  void give_back() {
    if (taken_ > 0) memory_.free(address_);
    taken_ = 0;
  }

  Memory& memory_;
  Address address_ = 0;
  std::size_t taken_ = 0;
};

/// The work space of a call, and the info of each of its steps.
class Space {
 public:
  static constexpr std::size_t steps = 2;

  explicit Space(Memory& memory) : memory_(memory) {}

  std::size_t device_bytes = 0;
  std::size_t host_bytes = 0;

  Status take() {
    host_.resize(host_bytes);
    return memory_.take(info_bytes + device_bytes);
  }

  int* info(std::size_t step = 0) const { return static_cast<int*>(pointer(memory_.address())) + step; }
  void* device() const { return pointer(memory_.address() + info_bytes); }
  void* host() { return host_.data(); }

 private:
  static constexpr std::size_t info_bytes = 256;  // what follows is aligned

  GrowingMemory memory_;
  std::vector<std::byte> host_;
};

/// What is common to both libraries: the GPU, and its place in the team. The members are a row of a grid, so that each
/// has whole columns.
struct Place {
  std::shared_ptr<Context> context;
  std::shared_ptr<Memory> memory;
  int ordinal = 0;
  int member = 0;
  int members = 1;
  api::ncclComm communicator = nullptr;
  api::CUstream stream = nullptr;
};

Error refused(std::string_view name, int status) {
  return {ErrorKind::unsupported, fmt::format("{} returned status {}", name, status)};
}

/// Calls of cuSOLVERMp.
class SolverCalls {
 public:
  SolverCalls(const api::CusolverMp& library, const Place& place)
      : library_(library), place_(place), results_(*place.memory) {}
  ~SolverCalls() { forget_matrices(); }
  SolverCalls(const SolverCalls&) = delete;
  SolverCalls& operator=(const SolverCalls&) = delete;

  Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                 Space& space) {
    if (auto made = make_grid(); !made) return made;
    operation_ = operation;
    problem_ = operation.payload<lapack::Problem>();
    parts_.assign(parts.begin(), parts.end());
    block_ = block;
    forget_matrices();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const operation::Operand& whole = operation.operands()[i];
      const int made =
          library_.cusolverMpCreateMatrixDesc(&matrices_.emplace_back(), grid_, type(), whole.rows, whole.columns,
                                              block, block, 0, 0, parts[i].leading_dimension);
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

  Status queue(Space& space) {
    const api::Driver& driver = place_.context->driver();
    if (vector_bytes() > 0) {
      const auto cleared = driver.cuMemsetD8Async(results_.address(), 0, vector_bytes(), place_.stream);
      if (auto set = place_.context->check(cleared, "cuMemsetD8Async"); !set) return set;
    }
    std::size_t step = 0;
    Status waited;
    const int done = call([&](const auto&, auto* routine, const auto&... arguments) {
      // The steps share the work space.
      if (step > 0) waited = place_.context->check(driver.cuStreamSynchronize(place_.stream), "cuStreamSynchronize");
      return waited ? routine(arguments..., type(), space.device(), space.device_bytes, space.host(), space.host_bytes,
                              space.info(step++))
                    : api::solver_success;
    });
    if (!waited) return waited;
    if (done != api::solver_success) return tl::unexpected(refused("cuSOLVERMp", done));
    if (vectors_bytes() == 0) return {};
    return place_.context->check(driver.cuMemcpyDtoDAsync_v2(parts_[0].address, results_.address() + vector_bytes(),
                                                             vectors_bytes(), place_.stream),
                                 "cuMemcpyDtoDAsync");
  }

  /// Once the call has been made: writes the vectors of the operation.
  Status take_vectors() const {
    if (problem_.kind() == lapack::Kind::syevd) return take_values();
    return vector_bytes() > 0 ? take_pivots() : Status{};
  }

 private:
  /// All members make it together.
  Status make_grid() {
    if (grid_ != nullptr) return {};
    if (const int made = library_.cusolverMpCreate(&handle_, place_.ordinal, place_.stream);
        made != api::solver_success)
      return tl::unexpected(refused("cusolverMpCreate", made));
    const int made = library_.cusolverMpCreateDeviceGrid(handle_, &grid_, place_.communicator, 1, place_.members,
                                                         api::column_by_column);
    return made == api::solver_success ? Status{} : tl::unexpected(refused("cusolverMpCreateDeviceGrid", made));
  }
  void forget_matrices() {
    for (api::solverMpMatrix matrix : matrices_)
      if (matrix != nullptr) library_.cusolverMpDestroyMatrixDesc(matrix);
    matrices_.clear();
  }
  int uplo() const { return problem_.upper() ? api::fill_upper : api::fill_lower; }
  int type() const { return data_type(problem_.scalar()); }
  void* part(std::size_t index) const { return pointer(parts_[index].address); }

  /// Calls visit(size, routine, arguments...) for each step with the two functions of the routine, and the arguments
  /// that they share, until one does not succeed.
  template <class Visit>
  int call(const Visit& visit) const {
    constexpr api::Size first = 1;
    const api::Size n = problem_.n;
    const auto potrf = [&] {
      return visit(library_.cusolverMpPotrf_bufferSize, library_.cusolverMpPotrf, handle_, uplo(), n, part(0), first,
                   first, matrices_[0]);
    };
    const auto potrs = [&] {
      return visit(library_.cusolverMpPotrs_bufferSize, library_.cusolverMpPotrs, handle_, uplo(), n, problem_.k,
                   part(0), first, first, matrices_[0], part(1), first, first, matrices_[1]);
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
  std::size_t vector_bytes() const {
    const auto n = static_cast<std::size_t>(problem_.n);
    switch (problem_.kind()) {
      case lapack::Kind::getrf:
      case lapack::Kind::gesv: return aligned((n + static_cast<std::size_t>(block_)) * sizeof(std::int64_t));
      case lapack::Kind::syevd: return aligned(n * problem_.element_bytes());
      default: return 0;
    }
  }
  /// Bytes of this member's eigenvectors, which the library does not return in A.
  std::size_t vectors_bytes() const {
    if (problem_.kind() != lapack::Kind::syevd) return 0;
    return static_cast<std::size_t>(parts_[0].leading_dimension * parts_[0].columns) * problem_.element_bytes();
  }
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  std::int64_t* pivots() const { return static_cast<std::int64_t*>(pointer(results_.address())); }
  char* vector(lapack::Argument argument) const {
    return static_cast<char*>(operation_.vectors()[lapack::vector_index(problem_.routine, argument)].address);
  }

  Status take_values() const {
    if (place_.member != 0) return {};  // all have the same
    return copy_to_host(vector(lapack::Argument::w), static_cast<std::size_t>(problem_.n) * problem_.real_bytes());
  }

  /// NVIDIA does not say whether a member gets the pivots of its own columns, as in its example, or of its rows, which
  /// are all.
  Status take_pivots() const {
    std::vector<std::int64_t> found(static_cast<std::size_t>(problem_.n + block_));
    if (auto copied = copy_to_host(found.data(), found.size() * sizeof(std::int64_t)); !copied) return copied;
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

  Status copy_to_host(void* host, std::size_t bytes) const {
    const api::Driver& driver = place_.context->driver();
    const auto copied = driver.cuMemcpyDtoHAsync_v2(host, results_.address(), bytes, place_.stream);
    if (auto queued = place_.context->check(copied, "cuMemcpyDtoHAsync"); !queued) return queued;
    return place_.context->check(driver.cuStreamSynchronize(place_.stream), "cuStreamSynchronize");
  }

  const api::CusolverMp& library_;
  const Place& place_;
  api::solverMpHandle handle_ = nullptr;  // lives as long as the process, as the grid does
  api::solverMpGrid grid_ = nullptr;
  GrowingMemory results_;  ///< pivots, or eigenvalues and then eigenvectors
  operation::Operation operation_;
  lapack::Problem problem_{};
  std::vector<TeamPart> parts_;
  std::int64_t block_ = 1;
  std::vector<api::solverMpMatrix> matrices_;
};

/// Calls of cuBLASMp.
class ProductCalls {
 public:
  ProductCalls(const api::CublasMp& library, const Place& place) : library_(library), place_(place) {}
  ~ProductCalls() { forget_matrices(); }
  ProductCalls(const ProductCalls&) = delete;
  ProductCalls& operator=(const ProductCalls&) = delete;

  Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block,
                 Space& space) {
    if (auto made = make_grid(); !made) return made;
    call_ = blas::call_of(operation);
    parts_.assign(parts.begin(), parts.end());
    forget_matrices();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const operation::Operand& whole = operation.operands()[i];
      const int made = library_.cublasMpMatrixDescriptorCreate(whole.rows, whole.columns, block, block, 0, 0,
                                                               parts[i].leading_dimension, data_type(call_.scalar()),
                                                               grid_, &matrices_.emplace_back());
      if (made != api::blas_mp_success) return refuse("cublasMpMatrixDescriptorCreate", made);
    }
    const int sized = call([&](auto* size, auto*, const auto&... arguments) {
      return size(arguments..., compute_type(), &space.device_bytes, &space.host_bytes);
    });
    return sized == api::blas_mp_success ? Status{} : refuse("cuBLASMp's work space", sized);
  }

  Status queue(Space& space) {
    const int done = call([&](auto*, auto* routine, const auto&... arguments) {
      return routine(arguments..., compute_type(), space.device(), space.device_bytes, space.host(), space.host_bytes);
    });
    return done == api::blas_mp_success ? Status{} : refuse("cuBLASMp", done);
  }

 private:
  /// All members make it together.
  Status make_grid() {
    if (grid_ != nullptr) return {};
    if (const int made = library_.cublasMpCreate(&handle_, place_.stream); made != api::blas_mp_success)
      return refuse("cublasMpCreate", made);
    const int made = library_.cublasMpGridCreate(1, place_.members, api::column_by_column, place_.communicator, &grid_);
    return made == api::blas_mp_success ? Status{} : refuse("cublasMpGridCreate", made);
  }
  static Status refuse(std::string_view name, int status) { return tl::unexpected(refused(name, status)); }
  void forget_matrices() {
    for (api::blasMpMatrix matrix : matrices_)
      if (matrix != nullptr) library_.cublasMpMatrixDescriptorDestroy(matrix);
    matrices_.clear();
  }
  int compute_type() const {
    const bool single = call_.scalar() == blas::Scalar::s || call_.scalar() == blas::Scalar::c;
    return single ? api::compute_32f : api::compute_64f;
  }
  void* part(std::size_t index) const { return pointer(parts_[index].address); }

  /// Calls visit(size, routine, arguments...) with the two functions of the routine, and the arguments that they share.
  template <class Visit>
  int call(const Visit& visit) const {
    const blas::Scalar scalar = call_.scalar();
    const HostScalar alpha(call_.alpha, scalar);
    const HostScalar beta(call_.beta, scalar);
    const int op_a = cuda::operation(call_.transpose_a, scalar);
    constexpr api::Size first = 1;
    switch (call_.kind()) {
      case blas::Kind::gemm:
        return visit(library_.cublasMpGemm_bufferSize, library_.cublasMpGemm, handle_, op_a,
                     cuda::operation(call_.transpose_b, scalar), call_.m, call_.n, call_.k, alpha.address(), part(0),
                     first, first, matrices_[0], part(1), first, first, matrices_[1], beta.address(), part(2), first,
                     first, matrices_[2]);
      case blas::Kind::trsm:
        return visit(library_.cublasMpTrsm_bufferSize, library_.cublasMpTrsm, handle_, side(call_), fill(call_), op_a,
                     diagonal(call_), call_.m, call_.n, alpha.address(), part(0), first, first, matrices_[0], part(1),
                     first, first, matrices_[1]);
      case blas::Kind::syrk:
        return visit(library_.cublasMpSyrk_bufferSize, library_.cublasMpSyrk, handle_, fill(call_), op_a, call_.n,
                     call_.k, alpha.address(), part(0), first, first, matrices_[0], beta.address(), part(1), first,
                     first, matrices_[1]);
      default: return api::blas_mp_not_supported;
    }
  }

  const api::CublasMp& library_;
  const Place& place_;
  api::blasMpHandle handle_ = nullptr;  // lives as long as the process, as the grid does
  api::blasMpGrid grid_ = nullptr;
  blas::Call call_{};
  std::vector<TeamPart> parts_;
  std::vector<api::blasMpMatrix> matrices_;
};

/// Never destroyed while its process lives: the libraries' grids would take all members to destroy.
class CudaTeam final : public Team {
 public:
  CudaTeam(std::shared_ptr<const TeamLibraries> libraries, Place place)
      : libraries_(std::move(libraries)), place_(std::move(place)), space_(*place_.memory) {
    if (libraries_->solver) solver_.emplace(*libraries_->solver, place_);
    if (libraries_->blas) products_.emplace(*libraries_->blas, place_);
  }

  Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts, std::int64_t block) override {
    solves_ = is_solvers(operation);
    return in_context([&]() -> Status {
      space_.device_bytes = 0;
      space_.host_bytes = 0;
      const Status prepared = solves_ ? solver_->prepare(operation, parts, block, space_)
                                      : products_->prepare(operation, parts, block, space_);
      return prepared ? space_.take() : prepared;
    });
  }

  Status execute() override {
    return in_context([&]() -> Status {
      const api::Driver& driver = place_.context->driver();
      const auto check = [&](api::CUresult result, std::string_view name) {
        return place_.context->check(result, name);
      };
      const auto info = reinterpret_cast<std::uintptr_t>(space_.info());
      if (auto set = check(driver.cuMemsetD8Async(info, 0, sizeof info_, place_.stream), "cuMemsetD8Async"); !set)
        return set;
      if (auto queued = solves_ ? solver_->queue(space_) : products_->queue(space_); !queued) return queued;
      if (auto copied =
              check(driver.cuMemcpyDtoHAsync_v2(info_.data(), info, sizeof info_, place_.stream), "cuMemcpyDtoH");
          !copied)
        return copied;
      if (auto waited = check(driver.cuStreamSynchronize(place_.stream), "cuStreamSynchronize"); !waited) return waited;
      for (const int found : info_)
        if (found != 0) return tl::unexpected(Error{ErrorKind::failed, fmt::format("info is {}", found)});
      return solves_ ? solver_->take_vectors() : Status{};
    });
  }

  void abandon() override {
    if (abandoned_.exchange(true)) return;
    (void)place_.context->run([&]() -> Status {
      libraries_->nccl.ncclCommAbort(place_.communicator);
      return {};
    });
  }

 private:
  template <class Work>
  Status in_context(const Work& work) {
    const platform::SignalsBlocked blocked;  // the libraries start threads
    Status done = place_.context->run(work);
    if (done && abandoned_) return tl::unexpected(Error{ErrorKind::unavailable, "another member has given up"});
    return done;
  }

  const std::shared_ptr<const TeamLibraries> libraries_;
  const Place place_;
  Space space_;
  std::optional<SolverCalls> solver_;
  std::optional<ProductCalls> products_;
  bool solves_ = false;
  std::array<int, Space::steps> info_{};
  std::atomic<bool> abandoned_{false};
};

class CudaTeamLibrary final : public TeamLibrary {
 public:
  CudaTeamLibrary(TeamLibraries libraries, std::shared_ptr<Context> context, int ordinal)
      : libraries_(std::make_shared<const TeamLibraries>(std::move(libraries))),
        context_(std::move(context)),
        ordinal_(ordinal) {}

  Status supports(const operation::Operation& operation) const override {
    if (is_solvers(operation)) return libraries_->solver ? Status{} : tl::unexpected(libraries_->solver.error());
    return libraries_->blas ? Status{} : tl::unexpected(libraries_->blas.error());
  }

  Result<TeamInvitation> invite() const override {
    const platform::SignalsBlocked blocked;
    api::ncclUniqueId id{};
    if (auto made = run("ncclGetUniqueId", [&] { return libraries_->nccl.ncclGetUniqueId(&id); }); !made)
      return tl::unexpected(made.error());
    TeamInvitation invitation{};
    static_assert(sizeof id == sizeof invitation);
    std::memcpy(invitation.data(), &id, sizeof id);
    return invitation;
  }

  Result<std::unique_ptr<Team>> join(const TeamInvitation& invitation, int member, int members) const override {
    const platform::SignalsBlocked blocked;
    api::ncclUniqueId id{};
    std::memcpy(&id, invitation.data(), sizeof id);
    Place place{.context = context_,
                .memory = std::make_shared<Memory>(context_),
                .ordinal = ordinal_,
                .member = member,
                .members = members};
    auto joined = run("ncclCommInitRank",
                      [&] { return libraries_->nccl.ncclCommInitRank(&place.communicator, members, id, member); });
    if (!joined) return tl::unexpected(joined.error());
    // Not a non-blocking one: work that a library puts on the default stream stays in order with it.
    auto made = context_->run([&] {
      return context_->check(context_->driver().cuStreamCreate(&place.stream, api::stream_default), "cuStreamCreate");
    });
    if (!made) return tl::unexpected(made.error());
    return std::make_unique<CudaTeam>(libraries_, std::move(place));
  }

 private:
  template <class Work>
  Status run(const char* name, const Work& work) const {
    return context_->run([&]() -> Status {
      const api::ncclResult result = work();
      if (result == api::nccl_success) return {};
      return tl::unexpected(
          Error{ErrorKind::unsupported, fmt::format("{}: {}", name, libraries_->nccl.ncclGetErrorString(result))});
    });
  }

  const std::shared_ptr<const TeamLibraries> libraries_;
  const std::shared_ptr<Context> context_;
  const int ordinal_;
};

/// A GPU whose primary context this process uses.
struct UsedGpu {
  std::shared_ptr<Context> context;
  int driver_version = 0;

  static Result<UsedGpu> use(int ordinal) {
    const auto driver = load_driver();
    if (!driver) return tl::unexpected(driver.error());
    UsedGpu gpu;
    driver->cuDriverGetVersion(&gpu.driver_version);
    api::CUdevice device = 0;
    if (const auto result = driver->cuDeviceGet(&device, ordinal); result != api::success)
      return tl::unexpected(
          Error{ErrorKind::unavailable, fmt::format("GPU {} cannot be used: {}", ordinal, describe(*driver, result))});
    auto context = Context::retain(*driver, device);
    if (!context) return tl::unexpected(context.error());
    gpu.context = std::move(*context);
    return gpu;
  }
};

}  // namespace

bool may_run_in_team(const operation::Operation& operation) {
  return is_solvers(operation) || is_products(operation);
}

std::vector<Library> team_libraries(int ordinal, const std::string& cuda_path) {
  const platform::SignalsBlocked blocked;
  const auto gpu = UsedGpu::use(ordinal);
  if (!gpu) return {};
  std::vector<Library> libraries;
  const auto outcome = gpu->context->run([&]() -> Status {
    libraries = describe_team_libraries({cuda_path, gpu->driver_version}, ordinal);
    return {};
  });
  return outcome ? libraries : std::vector<Library>{};
}

Result<std::unique_ptr<TeamLibrary>> open_team_library(int ordinal, const std::string& cuda_path) {
  const platform::SignalsBlocked blocked;
  auto gpu = UsedGpu::use(ordinal);
  if (!gpu) return tl::unexpected(gpu.error());
  auto libraries = load_team_libraries({cuda_path, gpu->driver_version});
  if (!libraries) return tl::unexpected(libraries.error());
  return std::make_unique<CudaTeamLibrary>(std::move(*libraries), std::move(gpu->context), ordinal);
}

}  // namespace blastoff::device::cuda
