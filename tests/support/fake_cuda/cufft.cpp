// A libcufft.so.12 for the fake GPU: transforms by the definition, run on the stream's thread. Like cuFFT, it destroys
// the complex input of transforms with real results. A plan has tables on the GPU. Creating the plan copies them there
// on the default stream without waiting, and destroying the plan frees them. Creating a plan returns FAKE_FFT_STATUS
// where that variable is set.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "device/gpu/cuda/cufft/api.h"
#include "fake_cuda/gpu.h"
#include "naive_transform.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in cuFFT's own words
namespace fake = blastoff::fake_cuda;
namespace fft = blastoff::fft;
using fake::driver;

namespace {

constexpr cufftStatus invalid_plan = 1;
constexpr cufftStatus execution_failed = 6;
constexpr std::size_t work_bytes = 4096;

/// The state of a plan's tables; a transform gives no result unless they are there.
enum class Tables : std::uint8_t { on_their_way, there, freed };

struct Plan {
  std::shared_ptr<std::atomic<Tables>> tables = std::make_shared<std::atomic<Tables>>(Tables::on_their_way);
  fft::Transform transform;
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  CUstream stream = nullptr;
  void* work_area = nullptr;
  std::size_t work_bytes = 0;
  bool own_work_area = false;
};

std::mutex mutex;
std::map<cufftPlan, Plan> plans;

/// The distance from the first element to the last, of the input or the output.
std::int64_t extent(const fft::Transform& transform, bool output) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < transform.dims.size(); ++d) {
    const fft::Dimension& dim = transform.dims.all()[d];
    last +=
        ((output ? transform.out_length(d) : transform.in_length(d)) - 1) * (output ? dim.out_stride : dim.in_stride);
  }
  for (const fft::Dimension& batch : transform.batches.all())
    last += (batch.length - 1) * (output ? batch.out_stride : batch.in_stride);
  return last + 1;
}

bool set_kind(fft::Request& request, int type) {
  switch (type) {
    case fft_c2c: request = {fft::Kind::c2c, fft::Precision::f32}; return true;
    case fft_r2c: request = {fft::Kind::r2c, fft::Precision::f32}; return true;
    case fft_c2r: request = {fft::Kind::c2r, fft::Precision::f32, 1}; return true;
    case fft_z2z: request = {fft::Kind::c2c, fft::Precision::f64}; return true;
    case fft_d2z: request = {fft::Kind::r2c, fft::Precision::f64}; return true;
    case fft_z2d: request = {fft::Kind::c2r, fft::Precision::f64, 1}; return true;
    default: return false;
  }
}

/// Overwrites the input's or the output's elements. An element of a real array is one word.
void spoil(const fft::Transform& transform, bool output, void* array) {
  const std::int64_t step = (output ? transform.real_output() : transform.real_input()) ? 1 : 2;
  const auto spoil_words = [&](auto* words) {
    blastoff::test::each_batch(transform, [&](std::int64_t in, std::int64_t out) {
      blastoff::test::each_element(transform, output, output ? out : in, [&](std::size_t, std::int64_t offset) {
        words[step * offset] = std::numeric_limits<std::remove_pointer_t<decltype(words)>>::quiet_NaN();
      });
    });
  };
  if (transform.request.precision == fft::Precision::f64)
    spoil_words(static_cast<double*>(array));
  else
    spoil_words(static_cast<float*>(array));
}

cufftStatus execute(cufftPlan handle, int type, void* in, void* out, int direction) {
  const std::lock_guard lock(mutex);
  const auto found = plans.find(handle);
  if (!driver().context_is_current() || found == plans.end()) return invalid_plan;
  Plan plan = found->second;
  fft::Request asked;
  if (!set_kind(asked, type) || asked.kind != plan.transform.request.kind ||
      asked.precision != plan.transform.request.precision)
    return fft_invalid_type;
  // device/gpu always sets both.
  if (plan.stream == nullptr || !driver().is_device_memory(plan.work_area, plan.work_bytes)) return fft_invalid_value;
  // cuFFT 12 of CUDA 13.0 does the same, also if the work area is empty.
  if (plan.work_area == in) return execution_failed;
  if (asked.kind == fft::Kind::c2c) plan.transform.request.sign = direction;
  driver().post(plan.stream, [plan, in, out] {
    const auto usable = [&](void* address, std::int64_t elements, std::size_t bytes) {
      return driver().is_usable(address, static_cast<std::size_t>(elements) * bytes);
    };
    if (!usable(in, plan.in_elements, plan.transform.in_element_bytes()) ||
        !usable(out, plan.out_elements, plan.transform.out_element_bytes()))
      return driver().fail(fake::error_illegal_address);
    blastoff::test::naive_transform(plan.transform, in, out);
    if (plan.transform.real_output() && in != out) spoil(plan.transform, false, in);
    if (*plan.tables != Tables::there) spoil(plan.transform, true, out);
  });
  return fft_success;
}

template <class Change>
cufftStatus change(cufftPlan handle, const Change& body) {
  const std::lock_guard lock(mutex);
  const auto found = plans.find(handle);
  if (!driver().context_is_current() || found == plans.end()) return invalid_plan;
  body(found->second);
  return fft_success;
}

}  // namespace

extern "C" {

cufftStatus cufftGetProperty(int, int* value) {
  *value = 12;
  return fft_success;
}
cufftStatus cufftCreate(cufftPlan* handle) {
  if (!driver().context_is_current()) return invalid_plan;
  const std::lock_guard lock(mutex);
  static cufftPlan last = 0;
  *handle = ++last;
  plans[*handle] = {};
  return fft_success;
}
cufftStatus cufftDestroy(cufftPlan handle) {
  const std::lock_guard lock(mutex);
  const auto found = plans.find(handle);
  if (found == plans.end()) return invalid_plan;
  *found->second.tables = Tables::freed;
  plans.erase(found);
  return fft_success;
}
cufftStatus cufftSetAutoAllocation(cufftPlan handle, int automatic) {
  return change(handle, [&](Plan& plan) { plan.own_work_area = automatic == 0; });
}
cufftStatus cufftMakePlanMany64(cufftPlan handle, int rank, FftSize* lengths, FftSize* in_embedding, FftSize in_stride,
                                FftSize in_distance, FftSize* out_embedding, FftSize out_stride, FftSize out_distance,
                                int type, FftSize batch, std::size_t* bytes) {
  if (const int status = fake::wanted("FAKE_FFT_STATUS"); status != fft_success) return status;
  fft::Transform transform;
  if (rank < 1 || rank > 3) return fft_invalid_size;
  if (!set_kind(transform.request, type)) return fft_invalid_type;
  std::int64_t in = in_stride;
  std::int64_t out = out_stride;
  fft::Dimension dims[3];
  for (int d = rank - 1; d >= 0; --d) {
    dims[d] = {lengths[d], in, out};
    in *= in_embedding[d];
    out *= out_embedding[d];
  }
  for (int d = 0; d < rank; ++d) transform.dims.add(dims[d]);
  for (std::size_t d = 1; d < transform.dims.size(); ++d)
    if (in_embedding[d] < transform.in_length(d) || out_embedding[d] < transform.out_length(d)) return fft_invalid_size;
  if (batch > 1) transform.batches.add({batch, in_distance, out_distance});
  *bytes = transform.real_output() ? 0 : work_bytes;
  return change(handle, [&](Plan& plan) {
    driver().post(nullptr, [tables = plan.tables] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      auto expected = Tables::on_their_way;
      tables->compare_exchange_strong(expected, Tables::there);
    });
    plan.transform = transform;
    plan.work_bytes = *bytes;
    plan.in_elements = extent(transform, false);
    plan.out_elements = extent(transform, true);
  });
}
cufftStatus cufftSetStream(cufftPlan handle, CUstream stream) {
  return change(handle, [&](Plan& plan) { plan.stream = stream; });
}
cufftStatus cufftSetWorkArea(cufftPlan handle, void* area) {
  return change(handle, [&](Plan& plan) { plan.work_area = plan.own_work_area ? area : nullptr; });
}
cufftStatus cufftExecC2C(cufftPlan plan, void* in, void* out, int direction) {
  return execute(plan, fft_c2c, in, out, direction);
}
cufftStatus cufftExecR2C(cufftPlan plan, void* in, void* out) {
  return execute(plan, fft_r2c, in, out, fft_forward);
}
cufftStatus cufftExecC2R(cufftPlan plan, void* in, void* out) {
  return execute(plan, fft_c2r, in, out, fft_inverse);
}
cufftStatus cufftExecZ2Z(cufftPlan plan, void* in, void* out, int direction) {
  return execute(plan, fft_z2z, in, out, direction);
}
cufftStatus cufftExecD2Z(cufftPlan plan, void* in, void* out) {
  return execute(plan, fft_d2z, in, out, fft_forward);
}
cufftStatus cufftExecZ2D(cufftPlan plan, void* in, void* out) {
  return execute(plan, fft_z2d, in, out, fft_inverse);
}
}
