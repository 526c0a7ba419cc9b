// Every routine with every combination of options gives the result of its definition, and writes nothing else.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "device_fixture.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

using blas::Call;
using blas::Coefficient;
using device::Address;
using device::ErrorKind;
using operation::Operand;

void* as_pointer(Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

device::Block block_of(const Operand& operand) {
  return {operand.column_bytes(), static_cast<std::size_t>(operand.columns), operand.stride_bytes(),
          operand.stride_bytes()};
}

std::size_t storage_bytes(const Operand& operand) {
  return static_cast<std::size_t>(operand.leading_dimension * (operand.columns + 1)) * operand.element_size;
}

class DeviceOperationsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device_ != nullptr) queue_ = queue();
  }

  /// Computes the call on the device. The operands include the bytes around them; these go into `result` too.
  void compute(const Call& call, std::vector<std::byte>& result) {
    std::vector<std::unique_ptr<DeviceMemory>> memories;
    Call on_device = call;
    for (auto& operand : on_device.operands()) {
      const std::size_t bytes = storage_bytes(operand);
      memories.push_back(std::make_unique<DeviceMemory>(*device_, bytes));
      const bool is_result = &operand == &on_device.result();
      const void* host = is_result ? result.data() : operand.address;
      ASSERT_OK(queue_->copy_to_device(memories.back()->address(), host, run_of(bytes)));
      operand.address = as_pointer(memories.back()->address());
    }
    ASSERT_OK(queue_->execute(on_device, host_));
    ASSERT_OK(queue_->copy_to_host(result.data(), memories.back()->address(), run_of(result.size())));
    ASSERT_OK(queue_->synchronize());
  }

  void compare(const TestCall& test) {
    auto expected = test.result();
    auto actual = test.result();
    reference::compute(test.with_result(expected));
    compute(test.call(), actual);
    EXPECT_LE(test.difference(expected, actual), rounding) << describe(test.call());
  }

  reference::ReferenceRoutine host_;
  std::unique_ptr<device::Queue> queue_;
};
BLASTOFF_EVERY_DEVICE(DeviceOperationsTest);

TEST_P(DeviceOperationsTest, EveryRoutineAndOption) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const auto& row : blas::routines()) {
    const auto routine = static_cast<blas::Routine>(&row - blas::routines().data());
    SCOPED_TRACE(row.name);
    std::size_t number = 0;  // each size has another beta with the next option
    for (const auto& options : all_options(routine)) {
      ++number;
      for (const auto& sizes : {Sizes{1, 1, 1}, Sizes{13, 7, 5}, Sizes{33, 28, 17}}) {
        const Coefficient beta = std::array{Coefficient{0}, Coefficient{1}, Coefficient{-0.5, 0.25}}[number++ % 3];
        compare(TestCall(routine, options, sizes.m, sizes.n, sizes.k, {0.75, -0.5}, beta));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DeviceOperationsTest, LargerThanOneBlockOfAnyKernel) {
  for (const auto routine : {blas::Routine::dgemm, blas::Routine::cgemm, blas::Routine::dsyrk, blas::Routine::zher2k,
                             blas::Routine::dtrsm, blas::Routine::ztrmm, blas::Routine::zhemm, blas::Routine::dgemmt,
                             blas::Routine::cgemmt, blas::Routine::zgemm3m}) {
    Options options;
    options.uplo = blas::Uplo::lower;
    compare(TestCall(routine, options, 301, 301, 70, {1, 0.5}, {2, -1}));
  }
}

TEST_P(DeviceOperationsTest, TriangularProductsAcrossTheirBlocks) {
  for (const auto routine : {blas::Routine::sgemmt, blas::Routine::zgemmtr}) {
    for (const auto& options : all_options(routine)) {
      for (const auto& beta : {Coefficient{0}, Coefficient{0.5}}) {
        compare(TestCall(routine, options, 260, 260, 9, {1, 0.5}, beta));
      }
    }
  }
}

TEST_P(DeviceOperationsTest, LargeSolvesOfABatch) {
  using enum blas::Stacking;
  compare(TestCall(blas::Routine::dtrsm_batch, {.products = 2, .stacking = {apart, beside}}, 512, 512, 512, 0.75, 0));
}

/// Gives the diagonal of a complex operand imaginary parts, which the routine must ignore.
template <class Real>
void spoil_diagonal(const Operand& operand, std::byte* memory) {
  for (std::int64_t j = 0; j < std::min(operand.rows, operand.columns); ++j) {
    auto* parts = reinterpret_cast<Real*>(memory + static_cast<std::size_t>(j * (operand.leading_dimension + 1)) *
                                                       operand.element_size);
    parts[1] = static_cast<Real>(1e10);
  }
}

void spoil(const Operand& operand, void* memory, blas::Scalar scalar) {
  auto* bytes = static_cast<std::byte*>(memory);
  if (scalar == blas::Scalar::c) spoil_diagonal<float>(operand, bytes);
  if (scalar == blas::Scalar::z) spoil_diagonal<double>(operand, bytes);
}

TEST_P(DeviceOperationsTest, ImaginaryPartsOfHermitianDiagonalsDoNotCount) {
  using blas::Routine;
  for (const auto routine :
       {Routine::chemm, Routine::zhemm, Routine::cherk, Routine::zherk, Routine::cher2k, Routine::zher2k}) {
    for (const auto& options : all_options(routine)) {
      for (const std::int64_t order : {17, 150}) {
        const TestCall test(routine, options, order, order, 20, {0.75, -0.5}, {0.5, 0.25});
        const auto& call = test.call();
        const bool in_result = call.kind() != blas::Kind::hemm;
        auto expected = test.result();
        auto actual = test.result();
        if (in_result) {
          spoil(call.result(), actual.data(), call.scalar());
          spoil(call.result(), expected.data(), call.scalar());
        } else {
          spoil(call.operands()[0], call.operands()[0].address, call.scalar());
        }
        reference::compute(test.with_result(expected));
        compute(call, actual);
        EXPECT_LE(test.difference(expected, actual), rounding) << describe(call);
      }
    }
  }
}

TEST_P(DeviceOperationsTest, UnitDiagonalsAreNotRead) {
  using blas::Routine;
  for (const auto routine : {Routine::strmm, Routine::dtrsm, Routine::ctrsm, Routine::ztrmm}) {
    for (auto options : all_options(routine)) {
      if (options.diagonal != blas::Diagonal::unit) continue;
      // TestCall has put NaN on the diagonal, since a finite number might be used unnoticed.
      const TestCall test(routine, options, 90, 70, 0, {0.75, -0.5}, {});
      compare(test);
    }
  }
}

TEST_P(DeviceOperationsTest, SeveralOperationsRunInOrder) {
  const TestCall test(blas::Routine::dgemm, {}, 60, 60, 60, 1, 1);
  auto expected = test.result();
  auto actual = test.result();
  const auto& call = test.call();
  std::vector<std::unique_ptr<DeviceMemory>> memories;
  Call on_device = call;
  for (auto& operand : on_device.operands()) {
    memories.push_back(std::make_unique<DeviceMemory>(*device_, storage_bytes(operand)));
    ASSERT_OK(queue_->copy_to_device(memories.back()->address(), operand.address, block_of(operand)));
    operand.address = as_pointer(memories.back()->address());
  }
  for (int i = 0; i < 5; ++i) {
    reference::compute(test.with_result(expected));
    ASSERT_OK(queue_->execute(on_device, host_));
  }
  ASSERT_OK(queue_->copy_to_host(actual.data(), memories.back()->address(), block_of(call.result())));
  ASSERT_OK(queue_->synchronize());
  EXPECT_LE(test.difference(expected, actual), 5 * rounding);
}

TEST_P(DeviceOperationsTest, OperandsOffTheirElementsBoundariesAreRefused) {
  const TestCall test(blas::Routine::zgemm, {}, 8, 8, 8, 1, 0);
  Call call = test.call();
  const DeviceMemory memory(*device_, std::size_t{1} << 16);
  for (auto& operand : call.operands()) operand.address = as_pointer(memory.address());
  call.operands()[1].address = as_pointer(memory.address() + 8);
  const auto refused = queue_->execute(call, host_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  compare(test);
}

}  // namespace
}  // namespace blastoff::test
