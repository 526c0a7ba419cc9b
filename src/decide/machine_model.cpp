#include "decide/machine_model.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "operation/amounts.h"
#include "operation/front_end.h"

namespace blastoff::decide {
namespace {

/// The CPU may be faster by this factor than it was when it was measured.
constexpr double doubt = 1.25;

constexpr double page_bytes = 4096;

/// Floating-point operations per unit of volume: complex products have the most.
constexpr double max_flops_of_volume = 8;

/// Looking at a call and deciding costs the CPU about half a microsecond. That should be at most a tenth of what the
/// call may gain.
constexpr double min_worth_a_look = 5e-6;

/// The share of its best rate that no CPU exceeds in this family. Half of the work of a reduction to tridiagonal or
/// bidiagonal form is bound by memory. On 16 cores, OpenBLAS reaches 0.28 and 0.21 of the rate that is assumed for
/// products.
double max_efficiency(Family family) {
  switch (family) {
    case Family::syevd: return 0.5;
    case Family::gesdd: return 0.3;
    default: return 1;
  }
}

/// A family's share of the rate of products is known from so many operations on.
constexpr double min_known_share_flops = 3e10;

/// The least share of the rate of products that a GPU reaches in this family, with min_known_share_flops: half of what
/// an H200 reaches (share/machines/h200-pcie5.json). 0: the rate of products tells nothing.
double min_share_of_gemm_rate(Family family) {
  switch (family) {
    case Family::gemm: return 1;
    case Family::syrk: return 0.45;
    case Family::trsm: return 0.13;
    case Family::potrf: return 0.1;
    case Family::getrf: return 0.02;
    case Family::geqrf: return 0.016;
    case Family::syevd: return 0.014;
    case Family::gesdd: return 0.008;
    case Family::gemv:
    case Family::fft: return 0;
  }
  return 0;
}

Precision with_other_length(Precision precision) {
  switch (precision) {
    case Precision::s: return Precision::d;
    case Precision::d: return Precision::s;
    case Precision::c: return Precision::z;
    case Precision::z: return Precision::c;
  }
  return precision;
}
Precision with_other_field(Precision precision) {
  switch (precision) {
    case Precision::s: return Precision::c;
    case Precision::d: return Precision::z;
    case Precision::c: return Precision::s;
    case Precision::z: return Precision::d;
  }
  return precision;
}
bool is_single(Precision precision) {
  return precision == Precision::s || precision == Precision::c;
}

double operand_bytes(const operation::Operation& operation) {
  return static_cast<double>(part_bytes(operation));
}

/// Compares names only once for each routine, because every decision asks.
std::optional<RateKey> key_of(const operation::Operation& operation) {
  constexpr std::uint8_t none = 0xff;
  static constinit std::array<std::atomic<std::uint8_t>, operation::max_routines> known{};  // 0: not asked yet
  std::atomic<std::uint8_t>& slot = known[operation.routine() % known.size()];
  std::uint8_t value = slot.load(std::memory_order_relaxed);
  if (value == 0) {
    const auto key = rate_key_of(operation::routine_name(operation.routine()));
    value = key ? static_cast<std::uint8_t>(1 + RateTable::index(*key)) : none;
    slot.store(value, std::memory_order_relaxed);
  }
  if (value == none) return std::nullopt;
  const std::size_t index = value - std::size_t{1};
  return RateKey{static_cast<Family>(index / precision_count), static_cast<Precision>(index % precision_count)};
}

/// Returns 0 if the table has no rate.
double seconds_by(const RateTable& table, double memory_rate, const operation::Operation& operation) {
  const auto key = table.empty() ? std::nullopt : key_of(operation);
  const double rate = key ? table.rate(*key, operation.work.flops) : 0;
  if (rate == 0) return 0;
  const double reading = memory_rate > 0 ? operand_bytes(operation) / memory_rate : 0;
  return std::max(operation.work.flops / rate, reading);
}

}  // namespace

void RateTable::set(RateKey key, std::span<const RatePoint> points) {
  Row& row = rows_[index(key)];
  row.begin = static_cast<std::uint16_t>(points_.size());
  for (const RatePoint& point : points)
    points_.push_back({static_cast<float>(std::log(point.flops)), static_cast<float>(std::log(point.rate))});
  row.end = static_cast<std::uint16_t>(points_.size());
  row.factor = 1;
  row.trust = 4;
  // The best guess for precisions that were not measured: single precision has twice the rate of double precision.
  const Row lent = row;
  const Precision other_length = with_other_length(key.precision);
  const float factor = is_single(key.precision) ? 0.5F : 2.0F;
  borrow(lent, {key.family, with_other_field(key.precision)}, 1, 3);
  borrow(lent, {key.family, other_length}, factor, 2);
  borrow(lent, {key.family, with_other_field(other_length)}, factor, 1);
}

void RateTable::borrow(Row lent, RateKey to, float factor, std::uint8_t trust) {
  Row& row = rows_[index(to)];
  if (row.trust >= trust) return;
  row = lent;
  row.factor = factor;
  row.trust = trust;
}

double RateTable::rate(RateKey key, double flops) const {
  const Row& row = rows_[index(key)];
  if (row.begin == row.end) return 0;
  const auto wanted = static_cast<float>(std::log(std::max(flops, 1.0)));
  const Point* const first = points_.data() + row.begin;
  const Point* const last = points_.data() + row.end - 1;
  const Point* above = first;
  while (above != last && above->flops < wanted) ++above;
  float result = above->rate;
  if (above != first && above->flops > wanted) {
    const Point* const below = above - 1;
    result = below->rate + (above->rate - below->rate) * (wanted - below->flops) / (above->flops - below->flops);
  }
  return static_cast<double>(row.factor * std::exp(result));
}

void RateTable::scale(float factor) {
  for (Row& row : rows_) row.factor *= factor;
}

double MachineModel::device_seconds_of(const operation::Operation& operation) const {
  const double known = seconds_by(device_rates, device_memory_rate, operation);
  return device_seconds + looking_seconds_of(operation) + (known > 0 ? known : operation.work.flops / device_flops);
}

double MachineModel::looking_seconds_of(const operation::Operation& operation) const {
  return page_seconds > 0 ? page_seconds * operand_bytes(operation) / page_bytes : 0;
}

// The share grows with the order, which is proportional to the cube root of the operations.
double MachineModel::max_device_seconds_of(const operation::Operation& operation) const {
  if (seconds_by(device_rates, device_memory_rate, operation) > 0) return device_seconds_of(operation);
  const double flops = operation.work.flops;
  const auto key = key_of(operation);
  if (!key || flops < min_known_share_flops) return 0;
  const double share = std::min(1.0, min_share_of_gemm_rate(key->family) * std::cbrt(flops / min_known_share_flops));
  const double rate = share * device_rates.rate({Family::gemm, key->precision}, flops);
  return rate > 0 ? device_seconds + flops / rate : 0;
}

double MachineModel::cpu_seconds_of(const operation::Operation& operation) const {
  return seconds_by(cpu_rates, cpu_memory_rate, operation);
}

double MachineModel::min_cpu_seconds_of(const operation::Operation& operation) const {
  if (const double expected = cpu_seconds_of(operation); expected > 0) return expected / doubt;
  const auto key = key_of(operation);
  return operation.work.flops / (cpu_flops * (key ? max_efficiency(key->family) : 1));
}

double MachineModel::floor_volume() const {
  const double flops = std::max(device_seconds, min_worth_a_look) * max_flops_of_a_core;
  const double known = cpu_rates.rate({Family::gemm, Precision::z}, flops);
  const double share = known > 0 ? std::min(1.0, known / max_flops_of_a_core) : 1;
  return flops * share / max_flops_of_volume;
}

MachineModel MachineModel::shared_by(int processes) const {
  MachineModel result = *this;
  const double share = 1.0 / std::max(1, processes);
  for (double* rate : {&result.to_device, &result.from_device, &result.direct_to_device, &result.device_flops,
                       &result.device_memory_rate, &result.cpu_device_memory_rate})
    *rate *= share;
  result.device_rates.scale(static_cast<float>(share));
  return result;
}

}  // namespace blastoff::decide
