// Operations of vectors on what has stayed on the device: made there, and there only where all elements are.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "blas/vector_call.h"
#include "reference_vectors.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::VectorCall;
using blas::VectorRoutine;
using residency::PartThere;

constexpr std::int64_t order = 600;

class VectorsThere : public FlavourTest {
 protected:
  void SetUp() override {
    start();
    if (!rig_) return;
    // Twice: from the second time on, the first and the last page stay, too.
    for (int call = 0; call < 2; ++call) {
      reference::compute(twin_.call());
      ASSERT_GT(run_call(rig_->policy(), queues_, product_.call()).traffic.bytes_left, 0U);
    }
  }

  static blas::Call options() { return options_of(blas::Routine::dgemm, order, order, 4, 1); }
  static double* at(Case& of, std::int64_t row, std::int64_t column) {
    return static_cast<double*>(of.result().address()) + row + column * order;
  }

  /// Rows, or with `column` columns, of the result.
  VectorCall call_of(Case& of, VectorRoutine routine, bool columns = false) const {
    VectorCall call{.routine = routine, .n = order};
    const std::int64_t increment = columns ? 1 : order;
    call.x_and_y = {{{columns ? at(of, 0, 5) : at(of, 5, 0), increment},
                     {columns ? at(of, 0, 300) : at(of, 300, 0), reversed_ ? -increment : increment}}};
    call.alpha[0] = 3;
    return call;
  }

  std::vector<PartThere> make_there(const VectorCall& call, bool tell = false) {
    std::vector<PartThere> made;
    const operation::Operation whole = blas::operation_of(call);
    const auto parts = [&](std::span<const platform::Span> pages) {
      std::vector<operation::Operation> found;
      for (const blas::Elements run : blas::elements_within(call, pages, 8))
        found.push_back(blas::operation_of(blas::part_of(call, run.first, run.last)));
      return found;
    };
    const auto done = rig_->policy().make_there({whole, parts, host_, tell}, queues_, made);
    EXPECT_TRUE(done) << done.error().message;
    return made;
  }
  /// The call: what is on the device there, and the rest here. Returns how many elements were changed there.
  std::int64_t make(const VectorCall& call) {
    const std::vector<PartThere> made = make_there(call);
    std::int64_t next = 0;
    for (const PartThere& part : made) {
      const VectorCall own = blas::vector_call_of(part.part);
      const auto distance = reinterpret_cast<std::uintptr_t>(own.x_and_y[0].address) -
                            reinterpret_cast<std::uintptr_t>(call.x_and_y[0].address);
      const auto first = static_cast<std::int64_t>(distance / (order * sizeof(double)));
      if (first > next) reference::compute(blas::part_of(call, next, first));
      next = first + own.n;
    }
    if (next < order) reference::compute(blas::part_of(call, next, order));
    return elements(made);
  }
  static std::int64_t elements(const std::vector<PartThere>& made) {
    std::int64_t count = 0;
    for (const PartThere& part : made) count += blas::vector_call_of(part.part).n;
    return count;
  }

  void expect_right(const std::string& what) { EXPECT_EQ(product_.result().bytes(), twin_.result().bytes()) << what; }

  Case product_{options(), 0, Edge::first_element};
  Case twin_{options(), 0, Edge::first_element};
  bool reversed_ = false;
  const reference::VectorHost host_{};
};

TEST_P(VectorsThere, AreChangedWithoutComingHome) {
  for (const bool reversed : {false, true})
    for (const VectorRoutine routine :
         {VectorRoutine::dswap, VectorRoutine::dcopy, VectorRoutine::dscal, VectorRoutine::daxpy}) {
      reversed_ = reversed;
      EXPECT_GE(make(call_of(product_, routine)), order - 2) << blas::row(routine).name;
      reference::compute(call_of(twin_, routine));
    }
  expect_right("rows");
}

TEST_P(VectorsThere, ColumnsToo) {
  EXPECT_EQ(elements(make_there(call_of(product_, VectorRoutine::dswap, true))), order);
  reference::compute(call_of(twin_, VectorRoutine::dswap, true));
  expect_right("columns");
}

TEST_P(VectorsThere, WhatHasComeHomeIsLeftToTheCaller) {
  const volatile double look = *at(product_, 0, order / 2);
  EXPECT_TRUE(std::isfinite(look));
  const auto made = make_there(call_of(product_, VectorRoutine::dscal));
  EXPECT_GT(elements(made), 0);
  EXPECT_LT(elements(made), order - 10) << "a window of some columns has come home";
  product_.result().bytes();  // all of it comes home
  EXPECT_EQ(elements(make_there(call_of(product_, VectorRoutine::dscal))), 0);
}

TEST_P(VectorsThere, VectorsElsewhereAreLeftToTheCaller) {
  std::vector<double> elsewhere(order);
  VectorCall call = call_of(product_, VectorRoutine::dcopy);
  call.x_and_y[1] = {elsewhere.data(), 1};
  EXPECT_EQ(elements(make_there(call)), 0);
}

TEST_P(VectorsThere, TheElementsAreToldBeforeAndAfter) {
  const auto made = make_there(call_of(product_, VectorRoutine::dscal), true);
  ASSERT_FALSE(made.empty());
  const auto value = [](const std::vector<std::byte>& bytes) {
    double first;
    std::memcpy(&first, bytes.data(), sizeof first);
    return first;
  };
  EXPECT_EQ(3 * value(made.front().before[0]), value(made.front().after[0]));
}

/// Whoever looks meanwhile finds an element as it was or as it is, and all as it is once the calls have returned.
TEST_P(VectorsThere, ThreadsMayLookMeanwhile) {
  std::jthread looks([&] {
    for (std::int64_t column = 0; column < order; column += 3) {
      const volatile double look = *at(product_, 17, column);  // a row that nobody changes
      (void)look;
    }
  });
  for (int step = 0; step < 20; ++step) {
    make(call_of(product_, VectorRoutine::dswap));
    reference::compute(call_of(twin_, VectorRoutine::dswap));
  }
  looks.join();
  expect_right("rows that were exchanged while a thread looked");
}

INSTANTIATE_TEST_SUITE_P(Devices, VectorsThere,
                         testing::Values(Flavour{"stay", "simulated"}, Flavour{"stay", "delayed"},
                                         Flavour{"stay", "cuda"}),
                         [](const auto& flavour) { return flavour.param.device; });

}  // namespace
}  // namespace blastoff::test
