// Operations with several results and scratch: all results are copied back, the scratch is not, and no other byte
// changes.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "guarded_matrix.h"
#include "residency_rig.h"
#include "two_results.h"

namespace blastoff::test {
namespace {

using operation::Intent;
using operation::Operand;
using operation::Operation;
using operation::Part;
using residency::HostState;

constexpr TwoResultsFrontEnd front_end;
const TwoResultsHost host;

constexpr std::array intents{Intent::update, Intent::read, Intent::scratch, Intent::write};
constexpr std::size_t sum = 0, source = 1, scratch = 2, copy = 3;

/// Four matrices one behind the other; neighbours share a page.
class Matrices {
 public:
  Matrices(std::int64_t rows, std::int64_t columns, std::int64_t gap)
      : rows_(rows),
        columns_(columns),
        leading_(rows + gap),
        pages_(intents.size() * static_cast<std::size_t>(leading_ * columns) * sizeof(double)) {
    for (std::size_t i = 0; i < intents.size(); ++i) fill(i, static_cast<double>(i));
  }

  Operand operand(std::size_t index) const {
    Operand operand;
    operand.address = pages_.begin() + static_cast<std::size_t>(leading_ * columns_) * index * sizeof(double);
    operand.rows = rows_;
    operand.columns = columns_;
    operand.leading_dimension = leading_;
    operand.element_size = sizeof(double);
    operand.intent = intents[index];
    return operand;
  }

  void fill(std::size_t index, double value) {
    for (std::int64_t j = 0; j < columns_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i) *element(operand(index), i, j) = value + static_cast<double>(i + 3 * j);
  }

  Operation operation(double scale, Part part, operation::Cutting cutting) const {
    Operation result(front_end, 0, TwoResults{scale});
    result.cutting = cutting;
    for (std::size_t i = 0; i < intents.size(); ++i) {
      result.add(operand(i));
      if (i == sum) result.operands()[i].part = part;
    }
    return result;
  }

  std::vector<char> bytes() const { return {pages_.begin(), pages_.end()}; }

  /// The expected memory after the operation. The scratch does not change unless it is used in place.
  std::vector<char> expected(Operation operation, bool in_place) {
    std::vector<char> expected = bytes();
    std::vector<double> elsewhere(static_cast<std::size_t>(leading_ * columns_));
    for (std::size_t i = 0; i < intents.size(); ++i) {
      Operand& operand = operation.operands()[i];
      operand.address = expected.data() + (static_cast<char*>(operand.address) - pages_.begin());
      if (i == scratch && !in_place) operand.address = elsewhere.data();
    }
    compute_two_results(operation);
    return expected;
  }

 private:
  std::int64_t rows_, columns_, leading_;
  GuardedPages pages_;
};

class ResidencyResults : public FlavourTest {
 protected:
  Outcome run(const Operation& operation) { return run_operation(rig_->policy(), queues_, operation, host); }

  void run_and_check(Matrices& matrices, const Operation& operation, const std::string& what) {
    const std::vector<char> expected = matrices.expected(operation, GetParam().in_place());
    outcome_ = run(operation);
    ASSERT_FALSE(outcome_.error) << what << ": " << outcome_.error->message;
    EXPECT_EQ(matrices.bytes(), expected) << what;
  }

  Outcome outcome_;
};

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

TEST_P(ResidencyResults, AllComeHomeAndScratchDoesNot) {
  START();
  for (const std::int64_t gap : {0, 5, 700}) {
    for (const Part part : {Part::full, Part::upper, Part::lower}) {
      Matrices matrices(130, 130, gap);
      for (int round = 0; round < 6; ++round) {
        const Operation operation = matrices.operation(round + 1, part, operation::Cutting::none);
        run_and_check(matrices, operation, "gap " + std::to_string(gap) + ", round " + std::to_string(round));
        if (HasFailure()) return;
        if (round % 2 == 1) matrices.fill(round % 4 == 1 ? source : sum, round);
      }
    }
  }
}

TEST_P(ResidencyResults, ComeHomePanelByPanel) {
  RigOptions options;
  options.panels = {1 << 14, 1 << 14, 1 << 14};
  START(options);
  Matrices matrices(700, 1500, 3);
  for (int round = 0; round < 4; ++round) {
    run_and_check(matrices, matrices.operation(2, Part::full, operation::Cutting::strips), std::to_string(round));
    if (HasFailure()) return;
    EXPECT_TRUE(GetParam().in_place() || outcome_.panels.size() > 1);
  }
}

TEST_P(ResidencyResults, TrafficCountsThemAllAndNoScratch) {
  if (GetParam().in_place()) GTEST_SKIP() << "nothing is copied where operands are used in place";
  START();
  Matrices matrices(512, 64, 0);
  const std::uint64_t bytes = 512 * 64 * sizeof(double);
  run_and_check(matrices, matrices.operation(1, Part::full, operation::Cutting::none), "first");
  EXPECT_EQ(outcome_.traffic.bytes_to_device, 2 * bytes);
  EXPECT_EQ(outcome_.traffic.bytes_from_device + outcome_.traffic.bytes_left, 2 * bytes);
}

// The scratch that the device has overwritten is not taken for the program's data, and its results are found again.
TEST_P(ResidencyResults, AreOperandsOfTheNextOperation) {
  START();
  Matrices matrices(300, 70, 2);
  for (int round = 0; round < 4; ++round) {
    run_and_check(matrices, matrices.operation(1, Part::full, operation::Cutting::none), "forth");
    // The scratch and a result become sources.
    for (const std::size_t other : {copy, scratch}) {
      if (other == scratch) matrices.fill(scratch, round);
      Operation next = matrices.operation(3, Part::full, operation::Cutting::none);
      std::swap(next.operands()[source].address, next.operands()[other].address);
      run_and_check(matrices, next, "back, with " + std::to_string(other));
      if (HasFailure()) return;
    }
  }
}

std::string name_of(const testing::TestParamInfo<Flavour>& info) {
  std::string name = info.param.policy + "_" + info.param.device + (info.param.soft_dirty() ? "_soft_dirty" : "");
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(, ResidencyResults,
                         testing::Values(Flavour{"copy", "simulated"}, Flavour{"copy", "delayed"},
                                         Flavour{"first-use", "simulated"}, Flavour{"first-use", "delayed"},
                                         Flavour{"stay", "simulated"}, Flavour{"stay", "pinning"},
                                         Flavour{"first-use", "pinning"}, Flavour{"past-mirrors", "pinning"},
                                         Flavour{"first-use", "simulated", tracking::TrackerKind::soft_dirty},
                                         Flavour{"moves", "simulated"}, Flavour{"coherent", "simulated"}),
                         name_of);

/// A policy, and the device operation at which the device is lost.
struct Loss {
  Flavour flavour;
  std::string operation;
};

class ResidencyResultsFaults : public testing::TestWithParam<Loss> {};

// A panel counts as complete if all of its results are in host memory, and as untouched only if everything that it
// reads is intact.
TEST_P(ResidencyResultsFaults, StatesSpeakOfAllResults) {
  int failures = 0;
  for (int number = 1; number <= 24; ++number) {
    RigOptions options;
    options.fault = GetParam().operation + ":" + std::to_string(number) + ":lost";
    std::string reason;
    const auto rig = Rig::create(GetParam().flavour, options, reason);
    if (!rig) continue;
    device::CallQueues queues = rig->queues();
    if (!queues.upload || !queues.compute || !queues.download) continue;
    Matrices matrices(90, 70, 3);
    const Operation operation = matrices.operation(2, Part::full, operation::Cutting::none);
    for (int round = 0; round < 3; ++round) {
      const std::vector<char> before = matrices.bytes();
      const std::vector<char> after = matrices.expected(operation, false);
      const Outcome outcome = run_operation(rig->policy(), queues, operation, host);
      const std::string what = options.fault + ", round " + std::to_string(round);
      failures += outcome.error.has_value();
      if (!outcome.error) {
        EXPECT_EQ(matrices.bytes(), after) << what;
      } else if (!outcome.begun) {
        EXPECT_EQ(matrices.bytes(), before) << what;
      } else if (outcome.states.front() == HostState::complete) {
        EXPECT_EQ(matrices.bytes(), after) << what;
      } else if (outcome.states.front() == HostState::untouched) {
        EXPECT_EQ(matrices.bytes(), before) << what;
      }
      if (HasFailure() || outcome.error) break;
    }
  }
  EXPECT_GT(failures, 0);
}

std::vector<Loss> losses() {
  std::vector<Loss> result;
  for (const char* operation : {"to-device", "to-host", "execute", "record", "wait", "synchronize"})
    for (const char* policy : {"copy", "first-use"}) result.push_back({{policy, "simulated"}, operation});
  // This device orders its queues itself, so it records and awaits no events.
  for (const char* operation : {"to-device", "to-host", "execute", "synchronize"})
    for (const char* policy : {"first-use", "past-mirrors"}) result.push_back({{policy, "pinning"}, operation});
  return result;
}

INSTANTIATE_TEST_SUITE_P(, ResidencyResultsFaults, testing::ValuesIn(losses()),
                         [](const testing::TestParamInfo<Loss>& test) {
                           std::string name =
                               test.param.flavour.policy + "_" + test.param.flavour.device + "_" + test.param.operation;
                           for (char& letter : name) {
                             if (letter == '-') letter = '_';
                           }
                           return name;
                         });

void PrintTo(const Loss& loss, std::ostream* out) {
  *out << loss.flavour.policy << ' ' << loss.flavour.device << ' ' << loss.operation;
}

}  // namespace
}  // namespace blastoff::test
