#include "report/call_sites.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "blas_front_end.h"
#include "child.h"
#include "platform/caller.h"
#include "report/counter_file.h"
#include "report/json.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "temporary_folder.h"

namespace {

/// Stands for Python's interpreter, which executes another line at each look-up.
struct Interpreter {
  bool executes = false;
  int look_ups = 0;
  std::chrono::milliseconds each_takes{0};
};
Interpreter interpreter;

}  // namespace

extern "C" {
[[gnu::visibility("default")]] void* PyGILState_GetThisThreadState() {
  return interpreter.executes ? &interpreter : nullptr;
}
// NOLINTNEXTLINE(bugprone-reserved-identifier): the interpreter's name
[[gnu::visibility("default")]] void _Py_DumpTraceback(int file, void*) {
  std::this_thread::sleep_for(interpreter.each_takes);
  const std::string line = "  File \"user.py\", line " + std::to_string(++interpreter.look_ups) + " in f\n";
  ASSERT_EQ(write(file, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}
}

namespace blastoff::report {
namespace {

constexpr auto dgemm = static_cast<operation::RoutineId>(blas::Routine::dgemm);
constexpr auto zgemm = static_cast<operation::RoutineId>(blas::Routine::zgemm);

const char code[512] = {};  // addresses of this program

Record record_of(const void* caller, double seconds) {
  Record record;
  record.routine = dgemm;
  record.caller = caller;
  record.seconds = seconds;
  record.traffic.bytes_to_device = 100;
  record.volume = 1000;
  return record;
}

class CallSites : public testing::Test {
 protected:
  void SetUp() override {
    platform::prepare_callers();
    reset();
  }
};

TEST_F(CallSites, AreToldApartByPlaceAndRoutine) {
  add(record_of(&code[1], 1));
  add(record_of(&code[1], 2));
  Record refused = record_of(&code[2], 4);
  refused.refusal = Refusal::too_shallow;
  add(refused);
  Record other = record_of(&code[1], 0.5);
  other.routine = zgemm;
  add(other);
  const std::vector<CallSite> sites = call_sites();
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites[0].sums.cpu_seconds, 4.0);
  EXPECT_EQ(sites[0].refusals[static_cast<std::size_t>(Refusal::too_shallow)], 1U);
  EXPECT_EQ(sites[1].routine, dgemm);
  EXPECT_EQ(sites[1].sums.calls, 2U);
  EXPECT_EQ(sites[1].sums.device_seconds, 3.0);
  EXPECT_EQ(sites[1].sums.bytes_to_device, 200U);
  EXPECT_EQ(sites[1].volume, 2000.0);
  EXPECT_EQ(sites[0].offset, sites[1].offset + 1);
  EXPECT_EQ(sites[2].routine, zgemm);
  EXPECT_EQ(sites[2].offset, sites[1].offset);
  EXPECT_EQ(sites[0].object, std::filesystem::read_symlink("/proc/self/exe"));
  EXPECT_EQ(sites[0].python, "");
}

TEST_F(CallSites, SmallCallsCountAsOftenAsTheyStandFor) {
  end_small(dgemm, &code[3], {.weight = 64, .volume = 512, .start = 0}, 1024);
  const std::vector<CallSite> sites = call_sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].sums.calls, 64U);
  EXPECT_EQ(sites[0].sums.flops, 64 * 1024.0);
  EXPECT_EQ(sites[0].volume, 64 * 512.0);
  EXPECT_GT(sites[0].sums.cpu_seconds, 0.0);
  EXPECT_EQ(sites[0].refusals[static_cast<std::size_t>(Refusal::below_min_size)], 64U);
}

TEST_F(CallSites, CountTheirThreads) {
  add(record_of(&code[4], 1));  // calls are not counted while the first one makes the table
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { add(record_of(&code[4], 1)); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(call_sites().size(), 1U);
  EXPECT_EQ(call_sites()[0].sums.calls, 5U);
  EXPECT_GE(call_sites()[0].threads, 1);
  EXPECT_LE(call_sites()[0].threads, 5);
}

TEST_F(CallSites, MoreThanTheTableHoldsHarmNobody) {
  for (const char& place : code) add(record_of(&place, 1));
  EXPECT_EQ(call_sites().size(), 256U);
  EXPECT_EQ(totals().routines[dgemm].calls, std::size(code));
}

TEST_F(CallSites, AnAddressOfNoObjectIsOne) {
  add(record_of(reinterpret_cast<const void*>(16), 1));
  ASSERT_EQ(call_sites().size(), 1U);
  EXPECT_EQ(call_sites()[0].object, "?");
}

TEST_F(CallSites, AForkedChildBeginsAnew) {
  add(record_of(&code[5], 1));
  const pid_t child = fork();
  if (child == 0) {
    reset();
    const bool none = call_sites().empty();
    add(record_of(&code[6], 1));
    _exit(none && call_sites().size() == 1 ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
  EXPECT_EQ(call_sites().size(), 1U);
}

TEST_F(CallSites, OfAKilledProcessAreRead) {
  const test::TemporaryFolder folder{};
  const std::string directory = folder.path;
  const pid_t child = fork();
  if (child == 0) {
    reset();
    keep_counters_in(directory.c_str());
    add(record_of(&code[7], 1));
    add(record_of(&code[8], 2));
    _exit(9);
  }
  waitpid(child, nullptr, 0);
  std::vector<CallSite> sites;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == call_site_extension) sites = call_sites_of_file(entry.path());
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].sums.device_seconds, 2.0);
  EXPECT_EQ(sites[0].offset, sites[1].offset + 1);
  EXPECT_TRUE(call_sites_of_file(directory).empty());
  EXPECT_TRUE(call_sites_of_file(directory + "/none.sites").empty());
}

class LinesOfPython : public CallSites {
 protected:
  void SetUp() override {
    CallSites::SetUp();
    interpreter = {.executes = true};
  }
  void TearDown() override { interpreter = {}; }

  static std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const CallSite& site : call_sites())
      if (std::ranges::find(lines, site.python) == lines.end()) lines.push_back(site.python);
    std::ranges::sort(lines);
    return lines;
  }
};

TEST_F(LinesOfPython, AreLookedUpOnceForACallAndTheCallsInsideIt) {
  const char stack[2] = {};  // it grows down
  for (int call = 0; call < 2; ++call) {
    const CallBegin outer = begin_call(&stack[1]);
    for (int inner = 0; inner < 3; ++inner) {
      end_call(begin_call(&stack[0]));
      add(record_of(&code[inner], 1));
    }
    end_call(outer);
    add(record_of(&code[9], 1));
  }
  EXPECT_EQ(interpreter.look_ups, 2);
  EXPECT_EQ(lines(), (std::vector<std::string>{"user.py:1 in f", "user.py:2 in f"}));
  EXPECT_EQ(call_sites().size(), 8U);
}

TEST_F(LinesOfPython, OfShortCallsAreLookedUpAsLongAsThatCostsLittle) {
  interpreter.each_takes = std::chrono::milliseconds(2);
  for (int call = 0; call < 100; ++call) add(record_of(&code[1], 1e-6));
  EXPECT_EQ(interpreter.look_ups, 1) << "it took longer than all may take";
  add(record_of(&code[1], 1));
  EXPECT_EQ(interpreter.look_ups, 2) << "a long call pays for one";
}

}  // namespace
}  // namespace blastoff::report
