#include "fake_cuda/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "fake_cuda/gpu.h"

namespace blastoff::fake_cuda {
namespace {

// What the sources use of CUDA.
#define __global__  // NOLINT: CUDA's own name
#define __device__  // NOLINT
using std::fabs;
using std::fma;
using std::fmax;
using std::max;
using std::min;
using std::sqrt;

constexpr unsigned lanes = 32;
thread_local Index gridDim;
thread_local Index blockDim;
thread_local Index blockIdx;
thread_local Index threadIdx;

/// What each lane of the warp has passed to the shuffles so far. Thread-local memory is scarce, so it is elsewhere.
using Passed = std::array<std::vector<std::uint64_t>, lanes>;
thread_local Passed* passed_in_warp;

/// The lanes run one after the other, the last one first. So the lane above has passed its value already.
template <class Value>
Value __shfl_down_sync(unsigned, Value value, unsigned distance) {  // NOLINT
  Passed& passed = *passed_in_warp;
  const unsigned lane = threadIdx.x % lanes;
  passed[lane].push_back(std::bit_cast<std::uint64_t>(value));
  if (lane + distance >= lanes) return value;
  return std::bit_cast<Value>(passed[lane + distance].at(passed[lane].size() - 1));
}

template <class Value>
void atomicMax(Value* place, Value value) {
  *place = std::max(*place, value);
}

namespace magnitude {
#include "device/gpu/cuda/kernels/magnitude.cu"
}
namespace norm {
#include "device/gpu/cuda/kernels/norm.cu"
}
namespace permutation {
#include "device/gpu/cuda/kernels/permutation.cu"
}
namespace run_copy {
#include "device/gpu/cuda/kernels/run_copy.cu"
}
namespace scale {
#include "device/gpu/cuda/kernels/scale.cu"
}
namespace transpose {
#include "device/gpu/cuda/kernels/transpose.cu"
}
namespace triangle {
#include "device/gpu/cuda/kernels/triangle.cu"
}

// Whether the GPU can reach the memory that a kernel would use.

using uint64 = unsigned long long;

bool is_usable(const void* address, uint64 bytes) {
  return fake_cuda_services()->is_usable(address, bytes);
}
bool is_mapped(const void* address, uint64 bytes) {
  return is_usable(address, bytes) || Gpu::instance().registered(address, bytes) == Gpu::Registered::whole;
}

template <uint64 bytes>
bool reaches_magnitude(const char* address, uint64 pitch, uint64 reals, unsigned columns, unsigned, unsigned,
                       uint64* result) {
  return is_usable(address, (columns - 1) * pitch + reals * bytes) && is_usable(result, sizeof *result);
}

template <uint64 bytes>
bool reaches_norm(const char* address, uint64 line_pitch, uint64 position_pitch, unsigned lines, unsigned length,
                  unsigned chunk, unsigned, unsigned complex, unsigned, unsigned, unsigned, double, double, double,
                  double* result) {
  const uint64 results = uint64{lines} * ((length + chunk - 1) / chunk);
  return is_usable(address, (lines - 1) * line_pitch + (length - 1) * position_pitch + (complex + 1) * bytes) &&
         is_usable(result, results * sizeof *result);
}

template <uint64 bytes>
bool reaches_permutation(char* to, const char* from, unsigned, unsigned dimensions, permutation::Shape shape) {
  uint64 written = bytes;
  uint64 read = bytes;
  for (unsigned i = 0; i < dimensions; ++i) {
    const auto& dimension = shape.dimensions[i];
    written += (dimension.extent - 1) * dimension.destination_stride;
    read += (dimension.extent - 1) * dimension.source_stride;
  }
  return is_usable(to, written) && is_usable(from, read);
}

template <uint64 bytes>
bool reaches_runs(run_copy::Runs runs) {
  return std::ranges::all_of(runs.runs, [](const auto& run) {
    return run.words == 0 ||
           (is_usable(run.destination, run.words * bytes) && is_mapped(run.source, run.words * bytes));
  });
}

template <class Real>
bool reaches_scale(char* address, uint64 pitch, uint64 reals, uint64 all, Real) {
  return is_usable(address, (all / reals - 1) * pitch + reals * sizeof(Real));
}

template <uint64 bytes>
bool reaches_transpose(char* to, const char* from, uint64 to_pitch, uint64 from_pitch, uint64 rows, unsigned columns,
                       unsigned complex) {
  const uint64 element = (complex + 1) * bytes;
  return is_usable(to, (rows - 1) * to_pitch + columns * element) &&
         is_usable(from, (columns - 1) * from_pitch + rows * element);
}

template <uint64 bytes>
bool reaches_triangle(char* to, const char* from, uint64 to_pitch, uint64 from_pitch, uint64 words,
                      unsigned per_element, unsigned, unsigned) {
  const uint64 before_last = words / per_element - 1;
  return is_mapped(to, before_last * to_pitch + words * bytes) &&
         is_usable(from, before_last * from_pitch + words * bytes);
}

template <class... Arguments>
void run(void (*kernel)(Arguments...), Index blocks, Index threads, const std::tuple<Arguments...>& arguments) {
  Passed passed;
  passed_in_warp = &passed;
  gridDim = blocks;
  blockDim = threads;
  for (blockIdx.y = 0; blockIdx.y < blocks.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x) {
      for (unsigned warp = 0; warp < threads.x / lanes; ++warp) {
        for (auto& values : passed) values.clear();
        for (unsigned lane = lanes; lane-- > 0;) {
          threadIdx.x = warp * lanes + lane;
          std::apply(kernel, arguments);
        }
      }
    }
  }
  passed_in_warp = nullptr;
}

template <class... Arguments>
device::gpu::NativeFunction function(std::string_view name, void (*kernel)(Arguments...),
                                     bool (*reaches)(Arguments...)) {
  return {name, [=](Index blocks, Index threads, void** values) -> std::function<void()> {
            const auto arguments = [&]<std::size_t... i>(std::index_sequence<i...>) {
              return std::tuple<Arguments...>(*static_cast<Arguments*>(values[i])...);
            }
            (std::index_sequence_for<Arguments...>());
            return [=] {
              if (!std::apply(reaches, arguments)) return Gpu::instance().fail(error_illegal_address);
              run(kernel, blocks, threads, arguments);
            };
          }};
}

}  // namespace

device::gpu::NativeFunction* find_kernel(std::string_view name) {
  static std::array functions = {
      function("copy_runs_words4", run_copy::copy_runs_words4, reaches_runs<4>),
      function("copy_runs_words8", run_copy::copy_runs_words8, reaches_runs<8>),
      function("copy_triangle_words4", triangle::copy_triangle_words4, reaches_triangle<4>),
      function("copy_triangle_words8", triangle::copy_triangle_words8, reaches_triangle<8>),
      function("largest_magnitude_reals4", magnitude::largest_magnitude_reals4, reaches_magnitude<4>),
      function("largest_magnitude_reals8", magnitude::largest_magnitude_reals8, reaches_magnitude<8>),
      function("norm_reals4", norm::norm_reals4, reaches_norm<4>),
      function("norm_reals8", norm::norm_reals8, reaches_norm<8>),
      function("permute_words4", permutation::permute_words4, reaches_permutation<4>),
      function("permute_words8", permutation::permute_words8, reaches_permutation<8>),
      function("scale_reals4", scale::scale_reals4, reaches_scale<float>),
      function("scale_reals8", scale::scale_reals8, reaches_scale<double>),
      function("transpose_reals4", transpose::transpose_reals4, reaches_transpose<4>),
      function("transpose_reals8", transpose::transpose_reals8, reaches_transpose<8>),
  };
  const auto found = std::ranges::find(functions, name, &device::gpu::NativeFunction::name);
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace blastoff::fake_cuda
