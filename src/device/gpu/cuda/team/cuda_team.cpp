#include "device/gpu/cuda/team/cuda_team.h"

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "device/gpu/cuda/driver.h"
#include "device/gpu/cuda/team/product_calls.h"
#include "device/gpu/cuda/team/solver_calls.h"
#include "platform/threads.h"

namespace blastoff::device::gpu::cuda {
namespace {

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
      const Driver& driver = place_.context->driver();
      const auto check = [&](Code result, std::string_view name) { return place_.context->check(result, name); };
      const auto info = reinterpret_cast<std::uintptr_t>(space_.info());
      if (auto set = check(driver.set_bytes(info, 0, sizeof info_, place_.stream), "cuMemsetD8Async"); !set) return set;
      if (auto queued = solves_ ? solver_->queue(space_) : products_->queue(space_); !queued) return queued;
      if (auto copied = check(driver.copy_to_host(info_.data(), info, sizeof info_, place_.stream), "cuMemcpyDtoH");
          !copied)
        return copied;
      if (auto waited = check(driver.synchronize_stream(place_.stream), "cuStreamSynchronize"); !waited) return waited;
      for (const int found : info_)
        if (found != 0) return tl::unexpected(Error{ErrorKind::failed, fmt::format("info is {}", found)});
      return solves_ ? solver_->take_results(space_) : Status{};
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
      return context_->check(context_->driver().create_stream(&place.stream, stream_default), "cuStreamCreate");
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
    driver->version(&gpu.driver_version);
    int device = 0;
    if (const auto result = driver->find(&device, ordinal); result != success)
      return tl::unexpected(
          Error{ErrorKind::unavailable, fmt::format("GPU {} cannot be used: {}", ordinal, driver->describe(result))});
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

}  // namespace blastoff::device::gpu::cuda
