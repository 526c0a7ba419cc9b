// Transforms on every device: results, bytes that must not be written, and failures.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device_fixture.h"
#include "fft/execution.h"
#include "fft/host_transform.h"
#include "naive_transform.h"

namespace blastoff::test {
namespace {

using device::ErrorKind;
using fft::Dimension;
using fft::Kind;
using fft::Precision;

const bool fftw_added = [] {
  operation::add_front_end(fft::fftw());
  return true;
}();

/// Replaces FFTW's execution; the plan is a pointer to the transform.
void execute_naively(void* plan, void* in, void* out) {
  naive_transform(*static_cast<const fft::Transform*>(plan), in, out);
}

struct Case {
  std::string name;
  fft::Request request;
  std::vector<Dimension> dims;
  std::vector<Dimension> batches;
  double factor = 1;
};

/// A transform of row-major arrays without gaps. A real array that is transformed in place is padded.
Case row_major(const std::string& name, fft::Request request, const std::vector<std::int64_t>& lengths) {
  const auto transform = fft::basic(request, lengths);
  const auto dims = transform->dims.all();
  return {name, request, {dims.begin(), dims.end()}, {}};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto precision : {Precision::f64, Precision::f32})
    for (const auto kind : {Kind::c2c, Kind::r2c, Kind::c2r})
      for (const bool in_place : {false, true}) {
        const fft::Request request{kind, precision, kind == Kind::c2r ? 1 : -1, in_place};
        all.push_back(row_major("one dimension", request, {12}));
        all.push_back(row_major("two dimensions", request, {5, 6}));
        all.push_back(row_major("three dimensions", request, {3, 4, 5}));
        Case batched = row_major("a batch", request, {4, 6});
        const Dimension first = batched.dims[0];
        batched.batches = {{3, 4 * first.in_stride, 4 * first.out_stride}};
        all.push_back(batched);
      }
  const fft::Request plain{};
  all.push_back({"backward", {Kind::c2c, Precision::f64, 1}, {{8, 1, 1}}, {}});
  all.push_back({"along columns", plain, {{6, 5, 5}}, {{5, 1, 1}}});
  all.push_back({"padded lines", plain, {{4, 9, 8}, {7, 1, 1}}, {}});
  all.push_back({"padded lines in place", {Kind::c2c, Precision::f64, -1, true}, {{4, 9, 9}, {7, 1, 1}}, {}});
  all.push_back({"padded real lines", {Kind::r2c, Precision::f64}, {{4, 11, 6}, {10, 1, 1}}, {}});
  all.push_back({"padded real lines in place", {Kind::r2c, Precision::f64, -1, true}, {{4, 16, 8}, {10, 1, 1}}, {}});
  all.push_back({"every other element", plain, {{6, 2, 3}}, {}});
  all.push_back({"dimensions in another order", plain, {{3, 1, 1}, {5, 3, 3}}, {}});
  all.push_back({"two batches that are one", plain, {{4, 1, 1}}, {{3, 4, 4}, {2, 12, 12}}});
  all.push_back({"two batches", plain, {{4, 1, 1}}, {{3, 4, 4}, {2, 20, 20}}});
  all.push_back({"columns of layers", {Kind::c2c, Precision::f64, -1, true}, {{5, 4, 4}}, {{4, 1, 1}, {3, 20, 20}}});
  return all;
}

/// The arrays of one side, in host memory and on the device. Bytes that must not be touched hold a pattern.
class Side {
 public:
  Side(device::Device& device, const operation::Operand& operand, unsigned seed)
      : operand_(operand), before_(pattern(operand.span_bytes() + 64, seed)), memory_(device, before_.size()) {}

  void fill(std::size_t real_bytes) {
    for (std::int64_t column = 0; column < operand_.columns; ++column)
      for (std::size_t word = 0; word * real_bytes < operand_.column_bytes(); ++word) {
        const double value = static_cast<double>((word * 7 + static_cast<std::size_t>(column) * 3) % 19) - 9;
        unsigned char* const to =
            before_.data() + static_cast<std::size_t>(column) * operand_.stride_bytes() + word * real_bytes;
        const auto narrow = static_cast<float>(value);
        std::memcpy(to, real_bytes == sizeof narrow ? static_cast<const void*>(&narrow) : &value, real_bytes);
      }
  }

  operation::Operand on_device() const {
    operation::Operand placed = operand_;
    placed.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory_.address()));
    return placed;
  }

  /// Whether all bytes outside the operand's elements are unchanged.
  bool gaps_untouched(const Bytes& after) const {
    Bytes expected = after;
    for (std::int64_t column = 0; column < operand_.columns; ++column) {
      const std::size_t begin = static_cast<std::size_t>(column) * operand_.stride_bytes();
      std::memcpy(expected.data() + begin, before_.data() + begin, operand_.column_bytes());
    }
    return expected == before_;
  }

  Bytes& before() { return before_; }
  device::Address address() const { return memory_.address(); }

 private:
  operation::Operand operand_;
  Bytes before_;
  DeviceMemory memory_;
};

class DeviceFftTest : public DeviceTest {
 protected:
  /// A transform with its arrays on the device.
  struct Prepared {
    std::optional<fft::Transform> transform;
    std::optional<fft::Plan> plan;
    operation::Operation operation;
    std::vector<std::unique_ptr<Side>> sides;
  };

  /// `wider`: number of elements by which a column on the device is longer than on the host.
  void check(const Case& test, std::int64_t wider) {
    SCOPED_TRACE(test.name + " kind " + std::to_string(static_cast<int>(test.request.kind)) +
                 (test.request.in_place ? " in place" : "") + " wider " + std::to_string(wider));
    const auto stream = queue();
    Prepared prepared;
    prepare(*stream, test, wider, prepared);
    const fft::HostTransform host;
    ASSERT_OK(stream->execute(prepared.operation, host));
    ASSERT_OK(stream->synchronize());
    compare(prepared.operation, *stream, prepared.sides);
  }

  void prepare(device::Queue& stream, const Case& test, std::int64_t wider, Prepared& prepared) {
    auto& transform = prepared.transform;
    transform = fft::guru(test.request, test.dims, test.batches);
    ASSERT_TRUE(transform);
    transform->factor = test.factor;
    prepared.plan.emplace(*fft::make_plan(&*transform, {*transform, nullptr, nullptr},
                                          {reinterpret_cast<void*>(&execute_naively), fft::Style::c}));
    operation::Operation& operation = prepared.operation;
    operation = fft::Execution{&*prepared.plan, nullptr, nullptr}.operation();
    for (operation::Operand& operand : operation.operands())
      if (operand.columns > 1) operand.leading_dimension += wider;
    auto& sides = prepared.sides;
    for (operation::Operand& operand : operation.operands()) {
      sides.push_back(std::make_unique<Side>(*device_, operand, static_cast<unsigned>(sides.size())));
      sides.back()->fill(transform->real_bytes());
      if (sides.size() == 1 && transform->real_output()) make_spectrum(operation, sides.back()->before());
      upload(stream, sides.back()->address(), sides.back()->before());
      operand = sides.back()->on_device();
    }
  }

  static fft::Transform moved(const operation::Operation& operation) {
    fft::Transform transform = fft::plan_of(operation).transform;
    const fft::Layout layout = fft::layout_of(operation);
    transform.dims = layout.dims;
    transform.batches = layout.batches;
    return transform;
  }

  /// Makes the spectrum of real numbers. For other spectra, the result of a library is not defined.
  static void make_spectrum(const operation::Operation& operation, Bytes& input) {
    fft::Transform forward = moved(operation);
    forward.request.kind = Kind::r2c;
    forward.request.sign = -1;
    for (fft::Dimensions* dimensions : {&forward.dims, &forward.batches})
      for (Dimension& dimension : dimensions->all()) std::swap(dimension.in_stride, dimension.out_stride);
    std::vector<double> numbers(4096);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * 5 % 17) - 8;
    const std::vector<float> narrow(numbers.begin(), numbers.end());
    const bool wide = forward.request.precision == Precision::f64;
    naive_transform(forward, wide ? static_cast<const void*>(numbers.data()) : narrow.data(), input.data());
  }

  void compare(const operation::Operation& operation, device::Queue& stream,
               std::vector<std::unique_ptr<Side>>& sides) {
    const fft::Transform transform = moved(operation);
    Side& output = *sides.back();
    Bytes expected = output.before();
    naive_transform(transform, sides.front()->before().data(), expected.data());
    const Bytes found = download(stream, output.address(), expected.size());
    EXPECT_TRUE(output.gaps_untouched(found));
    each_batch(transform, [&](std::int64_t, std::int64_t base) {
      each_element(transform, true, base, [&](std::size_t, std::int64_t offset) {
        const auto begin = static_cast<std::size_t>(offset) * transform.out_element_bytes();
        for (std::size_t word = 0; word < transform.out_element_bytes(); word += transform.real_bytes())
          EXPECT_NEAR(real(found, begin + word, transform), real(expected, begin + word, transform), 1e-3);
      });
    });
    if (sides.size() == 2) {
      EXPECT_EQ(download(stream, sides.front()->address(), sides.front()->before().size()), sides.front()->before());
    }
  }

  static double real(const Bytes& bytes, std::size_t begin, const fft::Transform& transform) {
    double value = 0;
    float narrow = 0;
    if (transform.request.precision == Precision::f64)
      std::memcpy(&value, bytes.data() + begin, sizeof value);
    else
      std::memcpy(&narrow, bytes.data() + begin, sizeof narrow);
    return transform.request.precision == Precision::f64 ? value : static_cast<double>(narrow);
  }

  /// The status of a transform of this shape on this device.
  device::Status status_of(const Case& test, std::size_t offset = 0) {
    auto transform = fft::guru(test.request, test.dims, test.batches);
    const auto plan = fft::make_plan(&*transform, {*transform, nullptr, nullptr},
                                     {reinterpret_cast<void*>(&execute_naively), fft::Style::c});
    operation::Operation operation = fft::Execution{&*plan, nullptr, nullptr}.operation();
    const DeviceMemory memory(*device_, 1 << 20);
    std::size_t place = offset;
    for (operation::Operand& operand : operation.operands()) {
      operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.address() + place));
      place += 1 << 18;
    }
    const auto stream = queue();
    auto status = stream->execute(operation, fft::HostTransform());
    EXPECT_OK(stream->synchronize());
    return status;
  }
};
INSTANTIATE_TEST_SUITE_P(, DeviceFftTest, testing::Values("simulated", "cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(DeviceFftTest, ResultsAreThoseOfTheDefinition) {
  for (const Case& test : cases())
    for (const std::int64_t wider : {0, 3}) check(test, wider);
}

TEST_P(DeviceFftTest, ResultsAreMultipliedByTheFactor) {
  for (Case test : cases()) {
    test.factor = -0.75;
    for (const std::int64_t wider : {0, 3}) check(test, wider);
  }
}

TEST_P(DeviceFftTest, ManyShapesFollowEachOther) {
  for (std::int64_t length = 2; length < 40; ++length) check(row_major("one", {}, {length}), 0);
  check(row_major("the first again", {}, {2}), 0);
}

TEST_P(DeviceFftTest, ManyShapesAreUnderWayAtOnce) {
  const auto stream = queue();
  std::vector<Prepared> transforms(40);
  std::int64_t length = 1;
  for (Prepared& one : transforms) prepare(*stream, row_major("one", {}, {++length}), 0, one);
  const fft::HostTransform host;
  for (Prepared& one : transforms) ASSERT_OK(stream->execute(one.operation, host));
  ASSERT_OK(stream->synchronize());
  for (Prepared& one : transforms) compare(one.operation, *stream, one.sides);
}

/// Only executions that make a plan forbid page-locking: see Queue::copies_heap_memory().
TEST_P(DeviceFftTest, OnlyTheMakingOfPlansForbidsPins) {
  const auto stream = queue();
  const fft::HostTransform host;
  Prepared array, other, padded;
  prepare(*stream, row_major("three dimensions", {}, {3, 4, 5}), 0, array);
  prepare(*stream, row_major("another plan", {}, {3, 4, 6}), 0, other);
  prepare(*stream, {"padded lines", {}, {{4, 9, 8}, {7, 1, 1}}, {}}, 0, padded);
  const bool makes_plans = stream->copies_heap_memory(array.operation);
  EXPECT_EQ(makes_plans, GetParam() == std::string("cuda"));
  for (Prepared* const one : {&array, &padded}) ASSERT_OK(stream->execute(one->operation, host));
  ASSERT_OK(stream->synchronize());
  EXPECT_FALSE(stream->copies_heap_memory(array.operation));
  for (operation::Operand& operand : array.operation.operands()) operand.leading_dimension += 8;
  EXPECT_FALSE(stream->copies_heap_memory(array.operation)) << "without gaps its plan is the same wherever it lies";
  ASSERT_OK(stream->execute(array.operation, host));
  EXPECT_EQ(stream->copies_heap_memory(other.operation), makes_plans);
  EXPECT_EQ(stream->copies_heap_memory(padded.operation), makes_plans);
  ASSERT_OK(stream->synchronize());
}

class CudaFftTest : public DeviceFftTest {};
INSTANTIATE_TEST_SUITE_P(, CudaFftTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(CudaFftTest, WhatCufftCannotDoIsLeftToTheCpu) {
  const fft::Request plain{};
  const auto expect_unsupported = [&](const Case& test, std::size_t offset) {
    const auto status = status_of(test, offset);
    ASSERT_FALSE(status) << test.name;
    EXPECT_EQ(status.error().kind, ErrorKind::unsupported) << test.name;
  };
  expect_unsupported(row_major("four dimensions", plain, {2, 2, 2, 2}), 0);
  expect_unsupported({"a result in another order", plain, {{3, 5, 1}, {5, 1, 3}}, {}}, 0);
  expect_unsupported({"three batches", plain, {{2, 1, 1}}, {{2, 2, 4}, {2, 4, 2}, {2, 8, 8}}}, 0);
  expect_unsupported(row_major("real and misaligned", {Kind::r2c}, {16}), 8);
}

TEST_P(CudaFftTest, APlanThatCannotBeMadeLeavesTheDeviceUsable) {
  if (std::getenv("LD_LIBRARY_PATH") == nullptr || !std::strstr(std::getenv("LD_LIBRARY_PATH"), "fake_cuda"))
    GTEST_SKIP() << "not the fake GPU";
  const Case test = row_major("one", {}, {48});
  setenv("FAKE_FFT_STATUS", "2", 1);
  const auto no_memory = status_of(test);
  setenv("FAKE_FFT_STATUS", "5", 1);
  const auto internal = status_of(test);
  unsetenv("FAKE_FFT_STATUS");
  ASSERT_FALSE(no_memory);
  EXPECT_EQ(no_memory.error().kind, ErrorKind::out_of_memory);
  ASSERT_FALSE(internal);
  EXPECT_EQ(internal.error().kind, ErrorKind::unsupported);
  EXPECT_OK(status_of(test));
}

}  // namespace
}  // namespace blastoff::test
