// Plans are looked up by their addresses while others are added and removed; --verify detects wrong numbers.
#include "fft/plan_table.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fft/execution.h"
#include "fft/host_transform.h"
#include "fft/verification.h"
#include "naive_transform.h"

namespace blastoff::fft {
namespace {

void* address(std::size_t number) {
  return reinterpret_cast<void*>(0x10000 + number * 64);
}

Plan plan_of_length(void* handle, std::int64_t length) {
  const std::int64_t lengths[] = {length};
  return *make_plan(handle, {*basic({}, lengths), nullptr, nullptr}, {});
}

std::int64_t length_at(const void* handle) {
  const Plan* const plan = find_plan(handle);
  return plan == nullptr ? 0 : plan->transform.dims.all()[0].length;
}

TEST(PlanTable, KnowsThePlansThatAreThere) {
  EXPECT_EQ(find_plan(nullptr), nullptr);
  EXPECT_EQ(find_plan(address(1)), nullptr);
  for (std::size_t i = 0; i < 3000; ++i) remember_plan(plan_of_length(address(i), static_cast<std::int64_t>(i + 2)));
  for (std::size_t i = 0; i < 3000; ++i) EXPECT_EQ(length_at(address(i)), static_cast<std::int64_t>(i + 2));
  remember_plan(plan_of_length(address(7), 99));
  EXPECT_EQ(length_at(address(7)), 99) << "another plan at the same address";
  for (std::size_t i = 0; i < 3000; i += 2) forget_plan(address(i));
  for (std::size_t i = 0; i < 3000; ++i) EXPECT_EQ(length_at(address(i)) == 0, i % 2 == 0);
  for (std::size_t i = 0; i < 3000; ++i) forget_plan(address(i));
}

TEST(PlanTable, IsReadWhileOthersComeAndGo) {
  constexpr std::size_t kept = 50;
  for (std::size_t i = 0; i < kept; ++i) remember_plan(plan_of_length(address(i), static_cast<std::int64_t>(i + 2)));
  std::atomic<bool> ending{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader)
    readers.emplace_back([&] {
      while (!ending)
        for (std::size_t i = 0; i < kept; ++i)
          if (length_at(address(i)) != static_cast<std::int64_t>(i + 2)) ++wrong;
    });
  for (std::size_t round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 300; ++i) remember_plan(plan_of_length(address(1000 + round * 37 + i), 5));
    for (std::size_t i = 0; i < 300; ++i) forget_plan(address(1000 + round * 37 + i));
  }
  ending = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Work, GrowsWithTheTransform) {
  const auto volume = [](std::int64_t length) {
    const std::int64_t lengths[] = {length, length, length};
    return work_of(*basic({}, lengths)).volume;
  };
  EXPECT_NEAR(volume(48), 250.0 * 250 * 250, 1);
  EXPECT_LT(volume(47), 250.0 * 250 * 250);
  EXPECT_GT(volume(64), 2 * volume(48));
}

TEST(Work, AShapeIsTheSameWhateverItsArrays) {
  EXPECT_EQ(plan_of_length(address(1), 30).shape, plan_of_length(address(2), 30).shape);
  EXPECT_NE(plan_of_length(address(1), 30).shape, plan_of_length(address(1), 32).shape);
}

void execute_naively(void* plan, void* in, void* out) {
  test::naive_transform(*static_cast<const Transform*>(plan), in, out);
}

void execute_naively_in_fortran(void** plan, void* in, void* out) {
  execute_naively(*plan, in, out);
}

/// A transform of numbers in memory, executed by the library that planned it.
struct Example {
  explicit Example(Request request, NewArrayExecute execute = {reinterpret_cast<void*>(&execute_naively), Style::c}) {
    const std::int64_t lengths[] = {6, 10};
    transform = *basic(request, lengths);
    plan = *make_plan(&transform, {transform, nullptr, nullptr}, execute);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i * 7 % 23) - 11;
  }
  Execution execution() { return {&plan, in.data(), plan.in_place() ? in.data() : out.data()}; }
  std::vector<double>& result() { return plan.in_place() ? in : out; }

  Transform transform;
  Plan plan;
  std::vector<double> in = std::vector<double>(200);
  std::vector<double> out = std::vector<double>(200);
};

TEST(Verification, FindsAWrongNumber) {
  for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r})
    for (const bool in_place : {false, true}) {
      Example example({kind, Precision::f64, kind == Kind::c2r ? 1 : -1, in_place});
      const operation::Operation operation = example.execution().operation();
      const HostTransform host;
      const auto verification = verify(operation, host);
      ASSERT_TRUE(host.compute(operation));
      const auto right = verification->compare();
      EXPECT_TRUE(right.checked);
      EXPECT_LE(right.relative_error, right.bound);
      const double kept = example.result()[4];
      example.result()[4] = kept + 1e-6;
      EXPECT_GT(verification->compare().relative_error, right.bound);
      example.result()[4] = std::numeric_limits<double>::quiet_NaN();
      EXPECT_GT(verification->compare().relative_error, right.bound);
      example.result()[4] = kept;
      EXPECT_LE(verification->compare().relative_error, right.bound);
    }
}

TEST(Verification, ADeviceMayTakeDenormalNumbersForZero) {
  Example example({Kind::c2c, Precision::f32});
  auto* const in = reinterpret_cast<float*>(example.in.data());
  auto* const out = reinterpret_cast<float*>(example.out.data());
  for (int i = 0; i < 120; ++i) in[i] = static_cast<float>(i % 23 - 11) * 1e-43F;
  const operation::Operation operation = example.execution().operation();
  const HostTransform host;
  const auto verification = verify(operation, host);
  ASSERT_TRUE(host.compute(operation));
  EXPECT_NE(out[4], 0);
  std::fill_n(out, 120, 0.0F);
  const auto flushed = verification->compare();
  EXPECT_TRUE(flushed.checked);
  EXPECT_LE(flushed.relative_error, flushed.bound);
  out[4] = 1e-30F;
  EXPECT_GT(verification->compare().relative_error, flushed.bound);
}

TEST(Verification, LeavesUncheckedWhatTheCpuCannotCompute) {
  Example example({}, {});
  EXPECT_FALSE(example.execution().supported());
  EXPECT_FALSE(verify(example.execution().operation(), HostTransform())->compare().checked);
}

TEST(HostTransform, CallsFortranByAddress) {
  Example in_c({});
  Example in_fortran({}, {reinterpret_cast<void*>(&execute_naively_in_fortran), Style::fortran});
  ASSERT_TRUE(HostTransform().compute(in_c.execution().operation()));
  ASSERT_TRUE(HostTransform().compute(in_fortran.execution().operation()));
  EXPECT_EQ(in_c.out, in_fortran.out);
  EXPECT_NE(in_c.out[0], 0);
}

TEST(Execution, NeedsArraysAsPlanned) {
  Example apart({});
  EXPECT_TRUE(apart.execution().supported());
  EXPECT_FALSE((Execution{&apart.plan, apart.in.data(), apart.in.data()}).supported());
  EXPECT_FALSE((Execution{&apart.plan, apart.in.data(), apart.in.data() + 8}).supported()) << "they overlap";
  Example together({Kind::c2c, Precision::f64, -1, true});
  EXPECT_TRUE(together.execution().supported());
  EXPECT_FALSE((Execution{&together.plan, together.in.data(), together.out.data()}).supported());
  EXPECT_EQ(text(together.transform), "6x10 forward in place");
}

}  // namespace
}  // namespace blastoff::fft
