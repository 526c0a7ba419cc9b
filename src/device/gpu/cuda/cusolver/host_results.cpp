#include "device/gpu/cuda/cusolver/host_results.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "blas/integer.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// Writes `value` as element `index` of an array of its type.
template <class Number>
void write(std::span<std::byte> to, std::size_t index, Number value) {
  std::memcpy(to.data() + index * sizeof value, &value, sizeof value);
}

void write_integer(std::span<std::byte> to, std::size_t index, std::int64_t value, std::size_t bytes) {
  blas::put_integer(to.data() + index * bytes, value, bytes);
}

template <class Real>
bool all_finite(std::span<const std::byte> bytes) {
  for (std::size_t offset = 0; offset < bytes.size(); offset += sizeof(Real)) {
    Real value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

const operation::HostVector& HostResults::vector(Argument argument) const {
  return operation_.vectors()[lapack::vector_index(problem_.routine, argument)];
}

std::span<const std::byte> HostResults::given(Argument argument) const {
  const operation::HostVector& own = vector(argument);
  return {static_cast<const std::byte*>(own.address), own.bytes};
}

std::vector<std::int64_t> HostResults::given_integers(Argument argument) const {
  const std::span<const std::byte> bytes = given(argument);
  const std::size_t size = problem_.integer_bytes;
  std::vector<std::int64_t> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = blas::integer_at(bytes.data() + i * size, size);
  return values;
}

std::span<std::byte> HostResults::stage(Argument argument) {
  auto& bytes = staged_[static_cast<std::size_t>(argument)];
  bytes.resize(lapack::result_bytes(problem_, argument, found_));
  return bytes;
}

void HostResults::stage_integers(Argument argument, std::span<const std::int64_t> values) {
  const std::span<std::byte> to = stage(argument);
  for (std::size_t i = 0; i < values.size(); ++i) write_integer(to, i, values[i], problem_.integer_bytes);
}

std::byte* HostResults::stage_eigenvectors() {
  eigenvectors_ = PageMemory(static_cast<std::size_t>(found_ * problem_.n) * problem_.element_bytes());
  return static_cast<std::byte*>(eigenvectors_.address());
}

bool HostResults::finite() const {
  const bool single = problem_.real_bytes() == sizeof(float);
  for (const Argument argument : {Argument::tau, Argument::w, Argument::wi}) {
    const auto& bytes = staged_[static_cast<std::size_t>(argument)];
    if (!(single ? all_finite<float>(bytes) : all_finite<double>(bytes))) return false;
  }
  return true;
}

void HostResults::commit() const {
  for (const Argument argument : lapack::argument_list(problem_.routine)) {
    if (!lapack::is_vector(argument)) continue;
    const operation::HostVector& own = vector(argument);
    const std::size_t length = lapack::result_bytes(problem_, argument, found_);
    if (length == 0 || !operation::writes(own.intent)) continue;
    const auto& bytes = staged_[static_cast<std::size_t>(argument)];
    if (bytes.empty()) {
      write_rest(argument, {static_cast<std::byte*>(own.address), length});
    } else {
      std::memcpy(own.address, bytes.data(), length);
    }
  }
  if (eigenvectors_.address() != nullptr) write_eigenvectors();
  if (problem_.returns_value()) write_value();
}

void HostResults::write_value() const {
  const operation::HostVector& own = operation_.vectors()[lapack::value_index(problem_.routine)];
  const std::span to(static_cast<std::byte*>(own.address), own.bytes);
  if (problem_.real_bytes() == sizeof(float)) {
    write(to, 0, static_cast<float>(value_));
  } else {
    write(to, 0, value_);
  }
}

/// Writes nothing behind the last row of the last column.
void HostResults::write_eigenvectors() const {
  const std::size_t column = static_cast<std::size_t>(problem_.n) * problem_.element_bytes();
  const std::size_t stride = static_cast<std::size_t>(problem_.ldz) * problem_.element_bytes();
  auto* const to = static_cast<std::byte*>(operation_.vectors()[lapack::eigenvectors_index(problem_.routine)].address);
  const auto* const from = static_cast<const std::byte*>(eigenvectors_.address());
  for (std::size_t j = 0; j < static_cast<std::size_t>(found_); ++j)
    std::memcpy(to + j * stride, from + j * column, column);
}

void HostResults::write_rest(Argument argument, std::span<std::byte> to) const {
  const auto write_real = [&](std::int64_t value) {
    if (problem_.real_bytes() == sizeof(float)) {
      write(to, 0, static_cast<float>(value));
    } else {
      write(to, 0, static_cast<double>(value));
    }
  };
  const std::size_t integer = problem_.integer_bytes;
  std::fill(to.begin(), to.end(), std::byte{0});  // info, ifail, and the imaginary part of work
  switch (argument) {
    case Argument::found: write_integer(to, 0, found_, integer); break;
    case Argument::isuppz:
      // Each vector counts as full: its structure implies no zeros.
      for (std::size_t i = 0; i < to.size() / integer; ++i) write_integer(to, i, i % 2 == 0 ? 1 : problem_.n, integer);
      break;
    case Argument::work: write_real(problem_.lwork); break;
    case Argument::rwork: write_real(problem_.lrwork); break;
    case Argument::iwork: write_integer(to, 0, problem_.liwork, integer); break;
    default: break;
  }
}

}  // namespace blastoff::device::gpu::cuda
