#include "residency/mirror/return_path.h"

#include <algorithm>
#include <array>
#include <vector>

#include "operation/operation.h"
#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

using device::Status;
using operation::Operand;

device::Address address_of(const Operand& device) {
  return reinterpret_cast<device::Address>(device.address);
}

device::Block block_of(const Operand& host, const Operand& device) {
  if (host.contiguous() && device.contiguous() && host.columns > 0)
    return {host.payload_bytes(), 1, host.payload_bytes(), host.payload_bytes()};
  return {host.column_bytes(), static_cast<std::size_t>(host.columns), host.stride_bytes(), device.stride_bytes()};
}

// With wide gaps between the columns there may be no device memory in the gaps, so the columns are copied one by one.
Status copy_home(device::Queue& queue, const Operand& host, const Operand& device) {
  device::Block block = block_of(host, device);
  if (!has_wide_gaps(device)) return queue.copy_to_host(host.address, address_of(device), block);
  block.columns = 1;
  for (std::int64_t column = 0; column < host.columns; ++column) {
    auto* to = static_cast<char*>(host.address) + static_cast<std::size_t>(column) * host.stride_bytes();
    const device::Address from = address_of(device) + static_cast<std::size_t>(column) * device.stride_bytes();
    if (auto copied = queue.copy_to_host(to, from, block); !copied) return copied;
  }
  return {};
}

Operand part_of(Operand operand, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  operand.address = static_cast<char*>(operand.address) + static_cast<std::size_t>(row) * operand.element_size +
                    static_cast<std::size_t>(column) * operand.stride_bytes();
  operand.rows = rows;
  operand.columns = columns;
  return operand;
}

Status after_compute(device::CallQueues& queues, device::Event& computed) {
  if (auto recorded = queues.compute->record(computed); !recorded) return recorded;
  return queues.download->wait(computed);
}

class DirectReturn final : public ReturnPath {
 public:
  DirectReturn(device::CallQueues& queues, device::Event& computed, device::Event& diagonal_home, CommitLog* log)
      : queues_(queues), computed_(computed), diagonal_home_(diagonal_home), log_(log) {
    if (log_) log_->clear();
  }

  Status send(std::size_t panel, std::span<const Returned> results) override {
    const bool triangles = std::any_of(results.begin(), results.end(), is_triangle);
    return triangles ? send_with_triangles(panel, results) : send_rectangles(panel, results);
  }

  Status wait() override {
    return queues_.download->synchronize().and_then([&] { return queues_.upload->synchronize(); });
  }
  HostState state(std::size_t panel) override { return log_ ? log_->state(panel) : HostState::untouched; }

 private:
  static bool is_triangle(const Returned& result) { return result.host->part != operation::Part::full; }

  Status send_rectangles(std::size_t panel, std::span<const Returned> results) {
    device::Queue& queue = *queues_.download;
    return after_compute(queues_, computed_)
        .and_then([&] { return log_ ? log_->begin(queue, panel) : Status{}; })
        .and_then([&] { return copy_all(queue, results); })
        .and_then([&] { return log_ ? log_->end(queue, panel) : Status{}; });
  }

  static Status copy_all(device::Queue& queue, std::span<const Returned> results) {
    for (const Returned& result : results)
      if (auto copied = copy_home(queue, *result.host, *result.device); !copied) return copied;
    return {};
  }

  // The copy engine returns rectangles at link speed; the triangle kernel is about half as fast. So the kernel copies
  // only the blocks on the diagonal, while the copy engine copies the rest. The kernel runs in the upload queue, whose
  // uploads are all over by now, so it delays neither the copies nor the arithmetic of the next panel.
  Status send_with_triangles(std::size_t panel, std::span<const Returned> results) {
    device::Queue& copies = *queues_.download;
    device::Queue& kernels = *queues_.upload;
    return (log_ ? log_->begin(*queues_.compute, panel) : Status{})
        .and_then([&] { return after_compute(queues_, computed_); })
        .and_then([&] { return kernels.wait(computed_); })
        .and_then([&] { return copy_parts(kernels, copies, results); })
        .and_then([&] { return kernels.record(diagonal_home_); })
        .and_then([&] { return copies.wait(diagonal_home_); })
        .and_then([&] { return log_ ? log_->end(copies, panel) : Status{}; });
  }

  static Status copy_parts(device::Queue& kernels, device::Queue& copies, std::span<const Returned> results) {
    for (const Returned& result : results) {
      auto copied = is_triangle(result) ? send_diagonal(kernels, *result.host, *result.device).and_then([&] {
        return send_beside_diagonal(copies, *result.host, *result.device);
      })
                                        : copy_home(copies, *result.host, *result.device);
      if (!copied) return copied;
    }
    return {};
  }

  static std::int64_t block_order(const Operand& triangle) { return std::max<std::int64_t>(256, triangle.columns / 8); }

  static Status send_diagonal(device::Queue& queue, const Operand& host, const Operand& device) {
    return queue.copy_triangle_to_host(
        host.address, address_of(device),
        {host.columns, block_order(host), host.element_size, host.part, host.stride_bytes(), device.stride_bytes()});
  }

  static Status send_beside_diagonal(device::Queue& queue, const Operand& host, const Operand& device) {
    const std::int64_t step = block_order(host);
    const bool lower = host.part == operation::Part::lower;
    for (std::int64_t at = 0; at < host.columns; at += step) {
      const std::int64_t end = std::min(host.columns, at + step);
      const std::int64_t row = lower ? end : 0;
      const std::int64_t rows = lower ? host.columns - end : at;
      if (rows == 0) continue;
      const Operand to = part_of(host, row, at, rows, end - at);
      const Operand from = part_of(device, row, at, rows, end - at);
      if (auto copied = copy_home(queue, to, from); !copied) return copied;
    }
    return {};
  }

  device::CallQueues& queues_;
  device::Event& computed_;
  device::Event& diagonal_home_;
  CommitLog* log_;
};

class StagedReturn final : public ReturnPath {
 public:
  StagedReturn(device::CallQueues& queues, device::Event& computed, Staging& staging)
      : queues_(queues), computed_(computed), staging_(staging) {}

  Status send(std::size_t panel, std::span<const Returned> results) override {
    if (auto ready = after_compute(queues_, computed_); !ready) return ready;
    // Only one panel is returned at a time: the next one needs its slots, and the device computes meanwhile.
    if (auto earlier = wait(); !earlier) return earlier;
    std::array<Transfer, operation::Operation::max_operands> transfers;
    std::transform(results.begin(), results.end(), transfers.begin(), transfer_of);
    auto download = staging_.download({transfers.data(), results.size()}, *queues_.download);
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
    // Discarding an unfinished download leaves host memory alone, unless writing to it has begun.
    if (auto& under_way = downloads_[panel].under_way) {
      if (under_way->host_touched()) downloads_[panel].state = HostState::torn;
      under_way.reset();
    }
    return downloads_[panel].state;
  }

 private:
  static Transfer transfer_of(const Returned& result) {
    const Operand& host = *result.host;
    const Operand& device = *result.device;
    Transfer transfer{host.address, address_of(device), block_of(host, device), host.part, host.element_size};
    if (host.part != operation::Part::full)
      transfer.block = {host.column_bytes(), static_cast<std::size_t>(host.columns), host.stride_bytes(),
                        device.stride_bytes()};
    return transfer;
  }

  struct Panel {
    std::unique_ptr<Staging::Download> under_way;
    HostState state = HostState::untouched;
  };

  device::CallQueues& queues_;
  device::Event& computed_;
  Staging& staging_;
  std::vector<Panel> downloads_;
};

}  // namespace

std::unique_ptr<ReturnPath> direct_return(device::CallQueues& queues, device::Event& computed,
                                          device::Event& diagonal_home, CommitLog* log) {
  return std::make_unique<DirectReturn>(queues, computed, diagonal_home, log);
}

std::unique_ptr<ReturnPath> staged_return(device::CallQueues& queues, device::Event& computed, Staging& staging) {
  return std::make_unique<StagedReturn>(queues, computed, staging);
}

}  // namespace blastoff::residency::mirror
