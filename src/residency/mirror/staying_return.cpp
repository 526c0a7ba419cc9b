// Results that stay on the device.
#include <utility>
#include <vector>

#include "residency/footprint.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/return_path.h"
#include "residency/transfers.h"

namespace blastoff::residency::mirror {

namespace {

using device::Status;

class StayingReturn final : public ReturnPath {
 public:
  StayingReturn(Coherence& coherence, PageAcquisition& acquisition, device::CallQueues& queues, Staging& staging,
                Traffic& traffic)
      : coherence_(coherence), acquisition_(acquisition), queues_(queues), staging_(staging), traffic_(traffic) {}

  Status send(std::size_t, std::span<const Returned>) override { return {}; }

  Status wait() override {
    Status left;
    acquisition_.call.each_result([&](std::size_t i, const operation::Operand&) {
      if (left && acquisition_.stays[i]) left = leave(i);
    });
    if (left) state_ = HostState::complete;
    return left;
  }

  HostState state(std::size_t) override { return state_; }

 private:
  Status leave(std::size_t index) {
    coherence_.leave_edges(acquisition_, index, traffic_.runs_on);
    std::vector<Transfer> pieces;
    for (const platform::Span span : coherence_.not_to_stay(acquisition_.call.operands()[index])) {
      const std::size_t bytes = span.bytes();
      pieces.push_back({reinterpret_cast<void*>(span.begin), on_device(index, span.begin), {bytes, 1, bytes, bytes}});
    }
    if (auto home = bring(pieces); !home) return home;
    state_ = HostState::torn;
    if (!coherence_.leave(acquisition_, index)) return return_whole(index);
    acquisition_.left[index] -= bytes_of(pieces);
    traffic_.bytes_left += acquisition_.left[index];
    return {};
  }

  Status return_whole(std::size_t index) {
    const operation::Operand& result = acquisition_.call.operands()[index];
    const auto columns = static_cast<std::size_t>(result.columns);
    return bring({{result.address,
                   acquisition_.addresses[index],
                   {result.column_bytes(), columns, result.stride_bytes(), result.stride_bytes()},
                   result.part,
                   result.element_size}});
  }

  device::Address on_device(std::size_t index, std::uintptr_t host) const {
    return acquisition_.addresses[index] + (host - bounds(acquisition_.call.operands()[index]).begin);
  }

  /// Host memory is written when all of it has arrived.
  Status bring(const std::vector<Transfer>& transfers) {
    if (transfers.empty()) return {};
    if (auto computed = queues_.compute->synchronize(); !computed) return computed;
    traffic_.bytes_from_device += bytes_of(transfers);
    auto download = staging_.download(transfers, *queues_.download);
    return download ? (*download)->finish() : tl::unexpected(std::move(download.error()));
  }

  Coherence& coherence_;
  PageAcquisition& acquisition_;
  device::CallQueues& queues_;
  Staging& staging_;
  Traffic& traffic_;
  HostState state_ = HostState::untouched;
};

}  // namespace

std::unique_ptr<ReturnPath> staying_return(Coherence& coherence, PageAcquisition& acquisition,
                                           device::CallQueues& queues, Staging& staging, Traffic& traffic) {
  return std::make_unique<StayingReturn>(coherence, acquisition, queues, staging, traffic);
}

}  // namespace blastoff::residency::mirror
