// Every operation of the device fails once, at every point of a call. Host memory must be in the state that the lease
// tells, and the next call must be right or fail cleanly.
#include <gtest/gtest.h>

#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::Routine;

struct Fault {
  Flavour flavour;
  std::string operation;
  device::ErrorKind kind;
};

class ResidencyFaults : public testing::TestWithParam<Fault> {
 protected:
  /// Most operations of one kind in a call. Each of them fails in turn.
  static constexpr int max_operations = 24;

  bool lost() const { return GetParam().kind == device::ErrorKind::lost; }

  void check(Case& test, const Outcome& outcome, const std::string& what) {
    if (!outcome.error) return test.expect_right(what);
    EXPECT_EQ(outcome.error->kind, GetParam().kind) << what << ": " << outcome.error->message;
    test.expect_operands_untouched(what);
    if (!outcome.begun) return test.expect_untouched(what);
    for (std::size_t i = 0; i < outcome.states.size(); ++i) {
      const operation::Operation& panel = outcome.panels[i];
      const bool complete = outcome.states[i] == residency::HostState::complete;
      const bool torn = outcome.states[i] == residency::HostState::torn;
      EXPECT_TRUE(lost() || !torn) << what << ": torn by a device that still works";
      // A result that the call does not read may be half overwritten, since the call can be repeated.
      const bool matters = complete || (!torn && panel.updates());
      if (matters) test.expect_panel(blas::call_of(panel), complete, what);
    }
  }

  /// Returns whether the operation of this number failed: false if there are not so many.
  bool run_with_fault(int number, const blas::Call& call) {
    RigOptions options;
    options.fault = GetParam().operation + ":" + std::to_string(number) + (lost() ? ":lost" : ":memory");
    options.slot_bytes = std::size_t{16} << 10;
    options.slots = 4;
    std::string reason;
    auto rig = Rig::create(GetParam().flavour, options, reason);
    if (!rig) return true;  // the fault came before the policy was made
    device::CallQueues queues = rig->queues();
    if (!queues.upload || !queues.compute || !queues.download) return true;
    const int failures_before = failures_;
    Case test(call, 3, Edge::last_element);
    for (int round = 0; round < 3; ++round) {
      const std::string what = options.fault + ", call " + std::to_string(round);
      test.expect();
      const Outcome outcome = run_call(rig->policy(), queues, test.call());
      check(test, outcome, what);
      failures_ += outcome.error.has_value();
      test.take_back();
      if (!lost() && outcome.error) {
        const Outcome again = run_call(rig->policy(), queues, test.call());
        EXPECT_FALSE(again.error) << what << ", again: " << again.error->message;
        if (!again.error) test.expect_right(what + ", again");
        test.take_back();
      }
      test.refill(0);
    }
    return failures_ > failures_before;
  }

  int failures_ = 0;
};

TEST_P(ResidencyFaults, LeaveHostMemoryAsTheLeaseSays) {
  std::string reason;
  if (!Rig::create(GetParam().flavour, {}, reason)) GTEST_SKIP() << reason;
  for (const double beta : {1.0, 0.0}) {
    for (const blas::Call& call :
         {options_of(Routine::dgemm, 90, 70, 5, beta), options_of(Routine::dsyrk, 90, 90, 5, beta)}) {
      // Threads may make a few operations more in one run than in another, and some failures are no failures of a call.
      int without_failure = 0;
      for (int number = 1; number <= max_operations && without_failure < 6; ++number) {
        without_failure = run_with_fault(number, call) ? 0 : without_failure + 1;
        if (HasFailure()) return;
      }
    }
  }
  RecordProperty("failures", failures_);
}

std::vector<Fault> faults() {
  std::vector<Fault> result;
  for (const char* policy : {"copy", "first-use", "stay", "moves"}) {
    for (const char* device : {"simulated", "delayed"}) {
      const Flavour flavour{policy, device};
      for (const char* operation : {"allocate", "back", "event"}) {
        result.push_back({flavour, operation, device::ErrorKind::out_of_memory});
      }
      // A lack of memory shows when work is queued. A later failure means a lost device.
      if (flavour.device == "simulated") result.push_back({flavour, "execute", device::ErrorKind::out_of_memory});
      if (flavour.stays()) continue;  // a device that is lost with the only copy of a result ends the process
      for (const char* operation :
           {"allocate", "back", "event", "to-device", "to-host", "execute", "record", "wait", "synchronize"}) {
        result.push_back({flavour, operation, device::ErrorKind::lost});
      }
    }
  }
  // This device orders its queues itself, so it records and awaits no events.
  for (const char* operation : {"allocate", "back", "event", "to-device", "to-host", "execute", "synchronize"})
    result.push_back({{"past-mirrors", "pinning"}, operation, device::ErrorKind::lost});
  return result;
}

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.flavour.policy << ' ' << fault.flavour.device << ' ' << fault.operation;
}

std::string name_of(const testing::TestParamInfo<Fault>& info) {
  std::string name = info.param.flavour.policy + "_" + info.param.flavour.device + "_" + info.param.operation +
                     (info.param.kind == device::ErrorKind::lost ? "_lost" : "_memory");
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(, ResidencyFaults, testing::ValuesIn(faults()), name_of);

}  // namespace
}  // namespace blastoff::test
