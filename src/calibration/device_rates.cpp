#include "calibration/device_rates.h"

#include <algorithm>
#include <vector>

#include "platform/stopwatch.h"

namespace blastoff::calibration {
namespace {

using decide::Family;
using decide::Precision;
using Json = nlohmann::ordered_json;

constexpr int max_executions = 9;
constexpr int min_executions = 3;
/// After this time, no further execution of a size is begun.
constexpr double enough_seconds = 0.15;
/// A size is not begun if one execution would take longer.
constexpr double longest_seconds = 0.5;

struct Row {
  const char* family_name;
  Family family;
  const char* precisions;
  std::vector<std::int64_t> sizes;
};

std::vector<Row> rows(bool quick) {
  const std::vector<std::int64_t> level3 =
      quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{256, 512, 1024, 2048, 4096, 8192};
  const std::vector<std::int64_t> level2 =
      quick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{1024, 4096, 8192};
  const std::vector<std::int64_t> factorizations =
      quick ? std::vector<std::int64_t>{32} : std::vector<std::int64_t>{256, 512, 1024, 2048, 4096};
  const std::vector<std::int64_t> cubes = quick ? std::vector<std::int64_t>{8} : std::vector<std::int64_t>{32, 64, 128};
  return {{"gemm", Family::gemm, "sdcz", level3},         {"gemv", Family::gemv, "dz", level2},
          {"syrk", Family::syrk, "dz", level3},           {"trsm", Family::trsm, "dz", level3},
          {"getrf", Family::getrf, "dz", factorizations}, {"potrf", Family::potrf, "dz", factorizations},
          {"geqrf", Family::geqrf, "dz", factorizations}, {"syevd", Family::syevd, "dz", factorizations},
          {"gesdd", Family::gesdd, "dz", factorizations}, {"fft", Family::fft, "cz", cubes}};
}

/// Operands in device memory, which the destructor frees.
class OnDevice {
 public:
  OnDevice(device::Device& device, const operation::Operation& operation) : device_(device), operation_(operation) {}
  ~OnDevice() {
    for (const device::Address address : buffers_) device_.free(address);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  device::Status allocate() {
    for (operation::Operand& operand : operation_.operands()) {
      auto buffer = device_.allocate(device::MemoryClient::copies, std::max<std::size_t>(operand.span_bytes(), 1));
      if (!buffer) return tl::unexpected(buffer.error());
      buffers_.push_back(*buffer);
      operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*buffer));
    }
    return {};
  }

  /// Before the first execution, copies everything to the device (`all`); later, the operands that the last execution
  /// has overwritten.
  device::Status bring(device::Queue& queue, const operation::Operation& from, bool all) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const operation::Operand& operand = from.operands()[i];
      const std::size_t bytes = operand.span_bytes();
      const bool wanted = all || operation::reads(operand.intent);
      if (!wanted || (!all && !operation::writes(operand.intent))) continue;
      if (auto sent = queue.copy_to_device(buffers_[i], operand.address, {bytes, 1, bytes, bytes}); !sent) return sent;
    }
    return queue.synchronize();
  }

  const operation::Operation& operation() const { return operation_; }

 private:
  device::Device& device_;
  operation::Operation operation_;
  std::vector<device::Address> buffers_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Measures the points of one row, with rising sizes, until one execution would take too long.
Json points_of(runtime::DeviceContext& context, const operation::Host& host, decide::RateKey key, const Row& row,
               double launch_seconds, const std::function<bool()>& time_left) {
  Json points = Json::array();
  double latest = 0;
  std::int64_t before = 0;
  for (const std::int64_t size : row.sizes) {
    const auto ratio = before > 0 ? static_cast<double>(size) / static_cast<double>(before) : 1;
    const double growth = row.family == Family::gemv ? ratio * ratio : ratio * ratio * ratio;
    if (!time_left() || growth * latest > longest_seconds) break;
    const auto trial = Trial::make(key, size);
    const auto seconds = trial ? seconds_on_device(context, *trial, host) : std::nullopt;
    if (!seconds) break;
    const double flops = trial->operation().work.flops;
    points.push_back({flops, flops / std::max(*seconds - launch_seconds, 0.1 * *seconds)});
    latest = *seconds;
    before = size;
  }
  return points;
}

}  // namespace

std::optional<double> seconds_on_device(runtime::DeviceContext& context, const Trial& trial,
                                        const operation::Host& host) {
  const operation::Operation& operation = trial.operation();
  if (!context.device().prepare(operation)) return std::nullopt;
  auto queues = context.queue_pool().acquire();
  if (!queues) return std::nullopt;
  device::Queue& queue = *(*queues)->compute;
  OnDevice there(context.device(), operation);
  if (!there.allocate()) return std::nullopt;
  std::vector<double> seconds;
  double spent = 0;
  for (int i = 0; i <= max_executions; ++i) {
    if (!there.bring(queue, operation, i == 0)) return std::nullopt;
    const platform::Stopwatch stopwatch;
    if (!queue.execute(there.operation(), host) || !queue.synchronize()) return std::nullopt;
    const double took = stopwatch.seconds();
    spent += took;
    if (i > 0) seconds.push_back(took);  // the first execution loads kernels
    if (spent > enough_seconds && static_cast<int>(seconds.size()) >= (took > enough_seconds ? 1 : min_executions))
      break;
  }
  return median(std::move(seconds));
}

Json device_rates(runtime::DeviceContext& context, const operation::Host& host, double launch_seconds, bool quick,
                  const std::function<bool()>& time_left) {
  Json list = Json::array();
  double memory_rate = 0;
  for (const Row& row : rows(quick)) {
    for (const char* precision = row.precisions; *precision != '\0'; ++precision) {
      const std::string name(1, *precision);
      const decide::RateKey key{row.family, *decide::precision_named(name)};
      const Json points = points_of(context, host, key, row, launch_seconds, time_left);
      if (points.empty()) continue;
      // A product of a real matrix and a vector reads 8 bytes for every two operations.
      if (row.family == Family::gemv && key.precision == Precision::d) memory_rate = 4 * points.back()[1].get<double>();
      list.push_back({{"family", row.family_name}, {"precision", name}, {"points", points}});
    }
  }
  Json result{{"rates", list}};
  if (memory_rate > 0) result["memory_rate"] = memory_rate;
  return result;
}

}  // namespace blastoff::calibration
