#include "fft/planner.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace blastoff::fft {
namespace {

/// The structures of FFTW's guru interface.
struct IoDim {
  int n, is, os;
};
struct IoDim64 {
  std::ptrdiff_t n, is, os;
};

class Lengths {
 public:
  bool set_size(std::int64_t size) {
    size_ = size < 0 ? 0 : static_cast<std::size_t>(size);
    return size >= 0 && size_ <= Dimensions::max_count;
  }
  std::int64_t& operator[](std::size_t index) { return values_[index]; }
  void reverse() { std::reverse(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(size_)); }
  std::size_t size() const { return size_; }
  std::span<const std::int64_t> all() const { return {values_.data(), size_}; }

 private:
  std::array<std::int64_t, Dimensions::max_count> values_{};
  std::size_t size_ = 0;
};

struct GuruDims {
  std::array<Dimension, Dimensions::max_count> dims{};
  std::size_t size = 0;
  std::span<const Dimension> all() const { return {dims.data(), size}; }
};

/// Reads the arguments one after the other.
class Reader {
 public:
  Reader(const RoutineRow& planner, std::span<void* const> words, std::size_t integer_bytes)
      : planner_(planner), words_(words), integer_bytes_(planner.style == Style::c ? sizeof(int) : integer_bytes) {
    if (planner.style == Style::fortran) next_ = 1;  // the plan comes first
  }

  std::optional<PlannerCall> read() {
    switch (planner_.form) {
      case Form::one: return basic_of(1);
      case Form::two: return basic_of(2);
      case Form::three: return basic_of(3);
      case Form::any: return basic_any();
      case Form::many: return many_of();
      case Form::guru:
      case Form::guru64: return guru_of();
    }
    return std::nullopt;
  }

 private:
  bool fortran() const { return planner_.style == Style::fortran; }
  void* pointer() { return words_[next_++]; }

  std::int64_t integer() {
    void* const word = pointer();
    // The upper half of a word with an int is undefined.
    if (!fortran()) return static_cast<int>(reinterpret_cast<std::intptr_t>(word));
    return element(word, 0);
  }

  std::int64_t element(const void* array, std::size_t index) const {
    return integer_bytes_ == 8 ? static_cast<const std::int64_t*>(array)[index] : static_cast<const int*>(array)[index];
  }

  /// Reads an array of lengths; empty for NULL. Fortran's order of dimensions is reversed.
  Lengths lengths(const void* array, std::size_t size) {
    Lengths result;
    if (array == nullptr) return result;
    result.set_size(static_cast<std::int64_t>(size));
    for (std::size_t i = 0; i < size; ++i) result[i] = element(array, i);
    if (fortran()) result.reverse();
    return result;
  }

  void read_arrays(PlannerCall& call) {
    call.in = pointer();
    call.out = pointer();
  }

  Request request(const PlannerCall& call) {
    const int real_sign = planner_.kind == Kind::r2c ? -1 : 1;
    const int sign = planner_.kind == Kind::c2c ? static_cast<int>(integer()) : real_sign;
    return {planner_.kind, planner_.precision, sign, call.in == call.out};
  }

  static std::optional<PlannerCall> with(PlannerCall call, const std::optional<Transform>& transform) {
    if (!transform) return std::nullopt;
    call.transform = *transform;
    return call;
  }

  std::optional<PlannerCall> basic_of(std::size_t rank) {
    Lengths sizes;
    sizes.set_size(static_cast<std::int64_t>(rank));
    for (std::size_t i = 0; i < rank; ++i) sizes[i] = integer();
    if (fortran()) sizes.reverse();
    PlannerCall call;
    read_arrays(call);
    return with(call, basic(request(call), sizes.all()));
  }

  std::optional<PlannerCall> basic_any() {
    Lengths sizes;
    if (!sizes.set_size(integer())) return std::nullopt;
    sizes = lengths(pointer(), sizes.size());
    PlannerCall call;
    read_arrays(call);
    return with(call, basic(request(call), sizes.all()));
  }

  std::optional<PlannerCall> many_of() {
    Lengths sizes;
    if (!sizes.set_size(integer())) return std::nullopt;
    const std::size_t rank = sizes.size();
    sizes = lengths(pointer(), rank);
    const std::int64_t howmany = integer();
    PlannerCall call;
    call.in = pointer();
    const Lengths in_embedding = lengths(pointer(), rank);
    const std::int64_t in_stride = integer();
    const std::int64_t in_distance = integer();
    call.out = pointer();
    const Lengths out_embedding = lengths(pointer(), rank);
    const std::int64_t out_stride = integer();
    const std::int64_t out_distance = integer();
    return with(call, many(request(call), sizes.all(), howmany, {in_embedding.all(), in_stride, in_distance},
                           {out_embedding.all(), out_stride, out_distance}));
  }

  Dimension guru_dimension(const void* const (&arrays)[3], std::size_t i) const {
    if (fortran()) return {element(arrays[0], i), element(arrays[1], i), element(arrays[2], i)};
    if (planner_.form == Form::guru64) {
      const IoDim64& dim = static_cast<const IoDim64*>(arrays[0])[i];
      return {dim.n, dim.is, dim.os};
    }
    const IoDim& dim = static_cast<const IoDim*>(arrays[0])[i];
    return {dim.n, dim.is, dim.os};
  }

  /// Reads a rank, followed in C by an array of structures, in Fortran by three arrays.
  std::optional<GuruDims> guru_dims() {
    Lengths counter;
    const bool holds = counter.set_size(integer());
    const void* arrays[3] = {pointer(), nullptr, nullptr};
    if (fortran()) {
      arrays[1] = pointer();
      arrays[2] = pointer();
    }
    if (!holds) return std::nullopt;
    GuruDims result;
    result.size = counter.size();
    for (std::size_t i = 0; i < result.size; ++i) result.dims[i] = guru_dimension(arrays, i);
    return result;
  }

  std::optional<PlannerCall> guru_of() {
    const auto dims = guru_dims();
    const auto batches = guru_dims();
    if (!dims || !batches) return std::nullopt;
    PlannerCall call;
    read_arrays(call);
    return with(call, guru(request(call), dims->all(), batches->all()));
  }

  const RoutineRow& planner_;
  const std::span<void* const> words_;
  const std::size_t integer_bytes_;
  std::size_t next_ = 0;
};

}  // namespace

std::optional<PlannerCall> parse(const RoutineRow& planner, std::span<void* const> words, std::size_t integer_bytes) {
  return Reader(planner, words, integer_bytes).read();
}

}  // namespace blastoff::fft
