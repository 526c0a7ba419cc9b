#include "residency/mirror/return_path.h"

#include <algorithm>

namespace blastoff::residency::mirror {

namespace {

using blas::Operand;
using device::Status;

device::Address address_of(const Operand& device) {
  return reinterpret_cast<device::Address>(device.address);
}

device::Block block_of(const Operand& host, const Operand& device) {
  if (host.contiguous() && device.contiguous() && host.columns > 0)
    return {host.payload_bytes(), 1, host.payload_bytes(), host.payload_bytes()};
  return {host.column_bytes(), static_cast<std::size_t>(host.columns), host.stride_bytes(), device.stride_bytes()};
}

Operand part_of(Operand operand, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  operand.address = static_cast<char*>(operand.address) + static_cast<std::size_t>(row) * operand.element_size +
                    static_cast<std::size_t>(column) * operand.stride_bytes();
  operand.rows = rows;
  operand.columns = columns;
  return operand;
}

Status after_compute(device::Lane& lane, device::Event& computed) {
  if (auto recorded = lane.compute->record(computed); !recorded) return recorded;
  return lane.download->wait(computed);
}

class DirectReturn final : public ReturnPath {
 public:
  DirectReturn(device::Lane& lane, device::Event& computed, CommitLog* log)
      : lane_(lane), computed_(computed), log_(log) {
    if (log_) log_->clear();
  }

  Status send(std::size_t panel, const Operand& host, const Operand& device) override {
    device::Queue& queue = *lane_.download;
    if (auto ready = after_compute(lane_, computed_); !ready) return ready;
    if (log_)
      if (auto begun = log_->begin(queue, panel); !begun) return begun;
    if (auto copied = copy(queue, host, device); !copied) return copied;
    return log_ ? log_->end(queue, panel) : Status{};
  }

  Status wait() override { return lane_.download->synchronize(); }
  HostState state(std::size_t panel) override { return log_ ? log_->state(panel) : HostState::untouched; }
  Return kind() const override { return Return::direct; }

 private:
  static Status copy(device::Queue& queue, const Operand& host, const Operand& device) {
    if (host.part == blas::Part::full)
      return queue.copy_to_host(host.address, address_of(device), block_of(host, device));
    return copy_triangle(queue, host, device);
  }

  // The copy engine brings rectangles home at link speed, the triangle kernel about half as fast: it gets only the
  // blocks on the diagonal.
  static Status copy_triangle(device::Queue& queue, const Operand& host, const Operand& device) {
    const std::int64_t order = host.columns;
    const std::int64_t step = std::max<std::int64_t>(256, order / 8);
    for (std::int64_t at = 0; at < order; at += step) {
      const std::int64_t end = std::min(order, at + step);
      const Operand square = part_of(host, at, at, end - at, end - at);
      const Operand from = part_of(device, at, at, end - at, end - at);
      if (auto copied = queue.copy_triangle_to_host(square.address, address_of(from), end - at, host.element_size,
                                                    host.part, host.stride_bytes(), device.stride_bytes());
          !copied)
        return copied;
      const bool lower = host.part == blas::Part::lower;
      const std::int64_t rows = lower ? order - end : at;
      if (rows == 0) continue;
      Operand beside = part_of(host, lower ? end : 0, at, rows, end - at);
      beside.part = blas::Part::full;
      const Operand beside_from = part_of(device, lower ? end : 0, at, rows, end - at);
      if (auto copied = queue.copy_to_host(beside.address, address_of(beside_from), block_of(beside, beside_from));
          !copied)
        return copied;
    }
    return {};
  }

  device::Lane& lane_;
  device::Event& computed_;
  CommitLog* log_;
};

class StagedReturn final : public ReturnPath {
 public:
  StagedReturn(device::Lane& lane, device::Event& computed, Staging& staging)
      : lane_(lane), computed_(computed), staging_(staging) {}

  Status send(std::size_t panel, const Operand& host, const Operand& device) override {
    if (auto ready = after_compute(lane_, computed_); !ready) return ready;
    // One panel on its way at a time: its slots are needed for the next, and the device computes meanwhile.
    if (auto earlier = wait(); !earlier) return earlier;
    Transfer transfer{host.address, address_of(device), block_of(host, device), host.part, host.element_size};
    if (host.part != blas::Part::full)
      transfer.block = {host.column_bytes(), static_cast<std::size_t>(host.columns), host.stride_bytes(),
                        device.stride_bytes()};
    auto download = staging_.download({&transfer, 1}, *lane_.download);
    if (!download) return tl::unexpected(download.error());
    downloads_.resize(panel + 1);
    downloads_[panel].under_way = std::move(*download);
    return {};
  }

  Status wait() override {
    for (Panel& panel : downloads_) {
      if (panel.state == HostState::complete || !panel.under_way) continue;
      auto finished = panel.under_way->finish();
      panel.state = finished                          ? HostState::complete
                    : panel.under_way->host_touched() ? HostState::torn
                                                      : HostState::untouched;
      panel.under_way.reset();
      if (!finished) return finished;
    }
    return {};
  }

  HostState state(std::size_t panel) override {
    if (panel >= downloads_.size()) return HostState::untouched;
    // Dropping a download that nobody finished leaves host memory alone unless it had begun to write it.
    if (auto& under_way = downloads_[panel].under_way) {
      if (under_way->host_touched()) downloads_[panel].state = HostState::torn;
      under_way.reset();
    }
    return downloads_[panel].state;
  }
  Return kind() const override { return Return::staged; }

 private:
  struct Panel {
    std::unique_ptr<Staging::Download> under_way;
    HostState state = HostState::untouched;
  };

  device::Lane& lane_;
  device::Event& computed_;
  Staging& staging_;
  std::vector<Panel> downloads_;
};

}  // namespace

std::unique_ptr<ReturnPath> direct_return(device::Lane& lane, device::Event& computed, CommitLog* log) {
  return std::make_unique<DirectReturn>(lane, computed, log);
}

std::unique_ptr<ReturnPath> staged_return(device::Lane& lane, device::Event& computed, Staging& staging) {
  return std::make_unique<StagedReturn>(lane, computed, staging);
}

}  // namespace blastoff::residency::mirror
