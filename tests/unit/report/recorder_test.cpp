#include "report/recorder.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <thread>
#include <vector>

#include "blas_front_end.h"
#include "child.h"
#include "report/summary.h"
#include "report/thread_counters.h"
#include "report/wall_time.h"

namespace blastoff::report {
namespace {

constexpr auto dgemm = static_cast<std::size_t>(blas::Routine::dgemm);

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override { reset(); }
};

Record offloaded_record() {
  Record record;
  record.routine = dgemm;
  record.symbol = "dgemm_";
  record.policy = "first-use";
  record.seconds = 0.5;
  record.traffic.transfer_seconds = 0.125;
  record.traffic.bytes_to_device = 100;
  record.traffic.bytes_from_device = 10;
  record.traffic.bytes_reused = 1000;
  record.traffic.bytes_rewritten = 60;
  record.traffic.bytes_between_devices = 7;
  record.traffic.bytes_read = 1160;
  record.traffic.bytes_left = 5;
  record.flops = 2e9;
  return record;
}

TEST_F(RecorderTest, SumsOffloadedCalls) {
  add(offloaded_record());
  add(offloaded_record());
  const RoutineTotals sums = totals().routines[dgemm];
  EXPECT_EQ(sums.calls, 2U);
  EXPECT_EQ(sums.offloaded, 2U);
  EXPECT_EQ(sums.device_seconds, 1.0);
  EXPECT_EQ(sums.cpu_seconds, 0.0);
  EXPECT_EQ(sums.transfer_seconds, 0.25);
  EXPECT_EQ(sums.bytes_to_device, 200U);
  EXPECT_EQ(sums.bytes_from_device, 20U);
  EXPECT_EQ(sums.bytes_reused, 2000U);
  EXPECT_EQ(sums.bytes_rewritten, 120U);
  EXPECT_EQ(sums.bytes_between_devices, 14U);
  EXPECT_EQ(sums.bytes_read, 2320U);
  EXPECT_EQ(sums.bytes_left, 10U);
  EXPECT_EQ(sums.flops, 4e9);
  EXPECT_EQ(sums.offloaded_flops, 4e9);
}

TEST_F(RecorderTest, SumsRefusedCallsByReason) {
  Record record = offloaded_record();
  record.refusal = Refusal::device_lost;
  add(record);
  const Totals sums = totals();
  EXPECT_EQ(sums.routines[dgemm].offloaded, 0U);
  EXPECT_EQ(sums.routines[dgemm].cpu_seconds, 0.5);
  EXPECT_EQ(sums.routines[dgemm].offloaded_flops, 0.0);
  EXPECT_EQ(sums.refusals[static_cast<std::size_t>(Refusal::device_lost)], 1U);
  EXPECT_EQ(sums.refusals[static_cast<std::size_t>(Refusal::none)], 0U);
}

TEST_F(RecorderTest, CountsEveryRefusalUnderItsOwnReasonAndNowhereElse) {
  for (std::size_t reason = 1; reason < refusal_count; ++reason) {
    reset();
    Record record = offloaded_record();
    record.refusal = static_cast<Refusal>(reason);
    add(record);
    const Totals sums = totals();
    for (std::size_t other = 0; other < sums.refusals.size(); ++other)
      EXPECT_EQ(sums.refusals.at(other), other == reason ? 1U : 0U) << refusal_text(record.refusal);
    EXPECT_EQ(sums.verification.checked, 0U) << refusal_text(record.refusal);
    EXPECT_EQ(sums.verification.worst_relative_error, 0.0) << refusal_text(record.refusal);
    EXPECT_STRNE(refusal_text(record.refusal), "");
  }
  EXPECT_STREQ(refusal_text(static_cast<Refusal>(refusal_count - 1)),
               "the program had forbidden itself system calls (seccomp)");
}

TEST_F(RecorderTest, KeepsTheWorstErrorAndTakesNanAsWorst) {
  Record record = offloaded_record();
  record.verified = true;
  record.relative_error = 0.5;
  add(record);
  record.relative_error = 0.25;
  record.traffic.stale_pages = 3;
  record.violated = true;
  add(record);
  EXPECT_EQ(totals().verification.checked, 2U);
  EXPECT_EQ(totals().verification.worst_relative_error, 0.5);
  EXPECT_EQ(totals().verification.stale_pages, 3U);
  EXPECT_EQ(totals().verification.violations, 1U);
  record.relative_error = std::nan("");
  add(record);
  EXPECT_EQ(totals().verification.worst_relative_error, std::numeric_limits<double>::max());
}

TEST_F(RecorderTest, ThreadsThatEndedKeepTheirCounts) {
  constexpr int threads = 8;
  constexpr int calls = 10000;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([] {
        for (int j = 0; j < calls; ++j) add(offloaded_record());
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  EXPECT_EQ(totals().routines[dgemm].calls, 2U * threads * calls);
}

std::size_t blocks() {
  std::size_t count = 0;
  for (const ThreadCounters* block = all_thread_counters(); block != nullptr; block = block->next) ++count;
  return count;
}

TEST_F(RecorderTest, BlocksOfEndedThreadsAreUsedAgain) {
  std::thread([] { add(offloaded_record()); }).join();
  const std::size_t before = blocks();
  for (int i = 0; i < 100; ++i) std::thread([] { add(offloaded_record()); }).join();
  EXPECT_EQ(blocks(), before);
  EXPECT_EQ(totals().routines[dgemm].calls, 101U);
}

/// The destructor of a key that is created after the recorder's own. It may run later, and repeatedly.
void count_in_destructor(void* key) {
  add(offloaded_record());
  static thread_local int rounds = 0;
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(*static_cast<pthread_key_t*>(key), key);
}

TEST_F(RecorderTest, CountsCallsFromDestructorsOfTheThread) {
  static pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, count_in_destructor), 0);
  std::thread([] {
    add(offloaded_record());
    pthread_setspecific(key, &key);
  }).join();
  EXPECT_EQ(totals().routines[dgemm].calls, 1U + PTHREAD_DESTRUCTOR_ITERATIONS);
  pthread_key_delete(key);
}

TEST_F(RecorderTest, ComparesWithWhatTheCpuIsExpectedToTake) {
  Record expected = offloaded_record();
  expected.cpu_seconds = 2;
  add(expected);
  add(offloaded_record());
  const RoutineTotals sums = totals().routines[dgemm];
  EXPECT_EQ(sums.judged_seconds, 0.5);
  EXPECT_EQ(sums.expected_cpu_seconds, 2);
  EXPECT_EQ(sums.known_cpu_seconds, 0) << "what is expected was not measured";
}

TEST_F(RecorderTest, ComparesWallTimeWithWhatTheCpuHasBeenMeasuredToTake) {
  const auto record = [](double wall, double on_cpu, Refusal refusal = Refusal::none) {
    Record result = offloaded_record();
    result.wall_seconds = wall;
    result.known_cpu_seconds = on_cpu;
    result.refusal = refusal;
    result.flops = 100;
    return result;
  };
  for (const Record& each : {record(0.5, 2), record(0.5, 0.375), record(4, 0), record(1.5, 1.25, Refusal::not_open)})
    add(each);
  const Totals counted = totals();
  const RoutineTotals sums = counted.routines[dgemm];
  EXPECT_EQ(sums.wall_seconds, 6.5);
  EXPECT_EQ(sums.known_seconds, 2.5);
  EXPECT_EQ(sums.known_cpu_seconds, 3.625);
  EXPECT_EQ(sums.known_flops, 200) << "of the device";
  EXPECT_EQ(sums.lost, 1U);
  EXPECT_EQ(sums.lost_seconds, 0.125);
  Context context;
  context.cost_seconds = 0.125;
  const Verdict found = verdict(counted, sums, context);
  EXPECT_EQ(found.saved, 1);
  EXPECT_TRUE(found.alike);
  EXPECT_FALSE(found.known()) << "a third of the operations on the device is not known";
}

// The verdict on two threads. The CPU takes `seconds` and `seconds_of_other` for their calls; now each call took an
// eighth of that, and `share` of the eighth was wall time.
Verdict verdict_on_threads(double share, double seconds, double seconds_of_other) {
  const auto add_call = [&](double on_cpu) {
    Record record = offloaded_record();
    record.share = share;
    record.wall_seconds = share * on_cpu / 8;
    record.known_cpu_seconds = share * on_cpu;
    add(record);
  };
  reset();
  add_call(seconds);
  std::thread(add_call, seconds_of_other).join();
  const Totals counted = totals();
  return verdict(counted, sum_over_routines(counted), Context());
}

TEST_F(RecorderTest, SavesWhatTheBusiestThreadSaves) {
  const Verdict at_once = verdict_on_threads(0.5, 8, 8);
  EXPECT_EQ(at_once.saved, 7);
  EXPECT_TRUE(at_once.known() && at_once.alike);
  const Verdict one_of_them = verdict_on_threads(0.5, 8, 0.5);
  EXPECT_EQ(one_of_them.saved, 8 - 8.5 / 16);
  EXPECT_TRUE(one_of_them.known()) << "it would have been in calls for 8 seconds at least";
}

TEST_F(RecorderTest, CallsThatAreNotTimedTakeAsLongWithoutUs) {
  Record record = offloaded_record();
  record.wall_seconds = 1;
  record.known_cpu_seconds = 8;
  add(record);
  add_untimed({.routine = record.routine, .refusal = Refusal::cpu_faster, .seconds = 4, .wall_seconds = 4});
  const Totals counted = totals();
  EXPECT_EQ(counted.busiest_cpu_seconds, 12);
  const Verdict found = verdict(counted, sum_over_routines(counted), Context());
  EXPECT_EQ(found.saved, 7);
  EXPECT_TRUE(found.alike);
}

TEST_F(RecorderTest, CountsTheWorkOfACallInsideAnotherOnce) {
  const auto count = [](bool inside) {
    Record record = offloaded_record();
    record.flops = 100;
    record.inside = inside;
    add(record);
    end_small(dgemm, nullptr, SmallCall{}, 10);
    ASSERT_TRUE(count_untimed_small(dgemm, 1, 10));
    add_untimed({.routine = dgemm, .refusal = Refusal::cpu_faster, .flops = 1});
  };
  count(false);
  EXPECT_EQ(totals().routines[dgemm].inner_flops, 0);
  const CallBegin outer = begin_call(__builtin_frame_address(0));
  count(true);
  end_call(outer);
  const RoutineTotals sums = totals().routines[dgemm];
  EXPECT_EQ(sums.flops, 242);
  EXPECT_EQ(sums.inner_flops, 121);
  EXPECT_EQ(sums.own_flops(), 121);
  Context context;
  context.cpu_run = EarlierRun{.flops = 121, .seconds = 30, .in_calls = 20, .runs = 1};
  EXPECT_EQ(verdict(totals(), sum_over_routines(totals()), context).cpu_run, 30);
}

TEST_F(RecorderTest, ComparesWithEarlierRunsOnTheCpuThatDidTheSameWork) {
  Record record = offloaded_record();
  record.wall_seconds = 5;
  record.flops = 100;
  add(record);
  const auto found = [](double elapsed, int rank = -1, double flops = 100, double closing = 0, double opening = 0) {
    Context context;
    context.device_opening = DeviceOpening{.seconds = opening, .closing = closing};
    context.rank = rank;
    context.elapsed_seconds = elapsed;
    context.cost_seconds = 0.5;
    context.cpu_run = EarlierRun{.flops = flops, .seconds = 30, .in_calls = 20, .runs = 1};
    const Totals counted = totals();
    return verdict(counted, sum_over_routines(counted), context);
  };
  EXPECT_EQ(found(15).saved, 15) << "the rest of the program takes as long as on the CPU";
  EXPECT_EQ(found(15).cpu_run, 30);
  EXPECT_TRUE(found(15).known()) << "though no call of it was timed on the CPU";
  EXPECT_EQ(found(17).saved, 13);
  EXPECT_EQ(found(40).saved, 9.5) << "it is slower by no more than the calls and Blastoff's own work take";
  EXPECT_EQ(found(40, -1, 100, 0, 2).saved, 7.5) << "and opening the device";
  EXPECT_EQ(found(12).saved, 15) << "that it is faster is no merit of the device";
  EXPECT_EQ(found(12, 0).saved, 18) << "unless ranks wait less for each other";
  EXPECT_EQ(found(15, -1, 102).cpu_run, 0);
  EXPECT_EQ(found(15, -1, 100, 0.25).saved, 14.75) << "the process ends later, after its report";
}

TEST_F(RecorderTest, SavesMoreWhereThreadsWouldWaitForEachOther) {
  const Verdict in_turn = verdict_on_threads(1, 8, 8);
  EXPECT_EQ(in_turn.saved, 6) << "the CPU might have made both calls at once";
  EXPECT_TRUE(in_turn.known() && !in_turn.alike);
  const Verdict hardly = verdict_on_threads(1, 8, 56);
  EXPECT_EQ(hardly.saved, 48);
  EXPECT_TRUE(hardly.alike);
}

TEST(SizeClass, IsHalfAnOctaveOfTheAverageSize) {
  EXPECT_EQ(size_class(0), 0U);
  EXPECT_EQ(size_class(1), 0U);
  for (const double size : {3.0, 64.0, 100.0, 2000.0, 20000.0}) {
    const std::size_t number = size_class(size * size * size);
    EXPECT_LE(min_size(number), size * (1 + 1e-12));
    EXPECT_GT(min_size(number + 1), size);
  }
  EXPECT_EQ(size_class(1e300), size_classes - 1);
}

TEST_F(RecorderTest, CountsCallsBySize) {
  Record record = offloaded_record();
  record.volume = 1000.0 * 1000 * 1000;
  add(record);
  end_small(dgemm, nullptr, {.weight = 64, .volume = 8.0 * 8 * 8, .start = 0}, 1024);
  const Totals sums = totals();
  const SizeTotals& large = sums.sizes[size_class(record.volume)];
  EXPECT_EQ(large.calls, 1U);
  EXPECT_EQ(large.offloaded, 1U);
  EXPECT_EQ(large.device_seconds, 0.5);
  const SizeTotals& small = sums.sizes[size_class(512)];
  EXPECT_EQ(small.calls, 64U);
  EXPECT_EQ(small.offloaded, 0U);
  EXPECT_GT(small.cpu_seconds, 0.0);
}

TEST_F(RecorderTest, ASampleThatWasInterruptedStandsForItselfOnly) {
  const auto count = [](double operations, double seconds) {
    end_small(dgemm, nullptr, {.weight = 64, .volume = 8.0 * 8 * 8, .recorded_before = recorded_seconds()}, operations,
              seconds);
    return totals().routines[dgemm].cpu_seconds;
  };
  const double usual = 1e-6;
  const double before = count(1024, usual);
  EXPECT_DOUBLE_EQ(before, 64 * usual);
  const double interrupted = count(1024, 0.01) - before;
  EXPECT_GE(interrupted, 0.01) << "the thread was in the call so long";
  EXPECT_LE(interrupted, 0.01 + 64 * 64 * usual) << "the others took no longer than before";
}

TEST_F(RecorderTest, ASampleOfALargerCallStandsForAllItsCalls) {
  const SmallCall sampled{.weight = 64, .volume = 8.0 * 8 * 8};
  end_small(dgemm, nullptr, sampled, 1024, 1e-6);
  const double before = recorded_seconds();
  end_small(dgemm, nullptr, {.weight = 64, .volume = 64, .recorded_before = before}, 1024e3, 1e-3);
  EXPECT_DOUBLE_EQ(recorded_seconds() - before, 64e-3);
}

TEST_F(RecorderTest, RanksThatFollowWaitWhereAnotherMakesTheCallForAll) {
  Record record;
  record.routine = dgemm;
  record.seconds = record.wall_seconds = 0.5;
  record.followed = true;
  record.refusal = Refusal::gathered;
  add(record);
  record.refusal = Refusal::distributed;
  add(record);
  record.followed = false;
  record.refusal = Refusal::gathered;
  add(record);
  const Totals sums = totals();
  EXPECT_EQ(sums.routines[dgemm].cpu_seconds, 1.5);
  EXPECT_EQ(sums.routines[dgemm].waited_seconds, 0.5);
  EXPECT_EQ(sums.routines[dgemm].followed, 2U);
  EXPECT_EQ(sums.sizes[0].calls, 1U) << "once in a job";
}

TEST_F(RecorderTest, SmallCallsAreAllCountedAndSomeTimed) {
  constexpr int calls = 64000;
  int timed = 0;
  for (int i = 0; i < calls; ++i) {
    const SmallCall small = begin_small(8.0 * 8 * 8);
    if (small.weight != 0) {
      EXPECT_EQ(small.weight, 64U);
      ++timed;
    }
    end_small(dgemm, nullptr, small, 1024);
  }
  EXPECT_NEAR(timed, calls / 64, 150);
  const Totals sums = totals();
  EXPECT_EQ(sums.routines[dgemm].calls, std::uint64_t{calls});
  EXPECT_EQ(sums.routines[dgemm].flops, 1024.0 * calls);
  EXPECT_EQ(sums.refusals[static_cast<std::size_t>(Refusal::below_min_size)], std::uint64_t{calls});
  EXPECT_GT(sums.routines[dgemm].cpu_seconds, 0.0);
}

TEST_F(RecorderTest, SmallCallsThatAreNotTimedCanBeCountedBeforeTheyAreMade) {
  constexpr int calls = 64000;
  int timed = 0;
  for (int i = 0; i < calls; ++i) {
    if (count_untimed_small(dgemm, 8.0 * 8 * 8, 1024)) continue;
    const SmallCall small = begin_small(8.0 * 8 * 8);
    EXPECT_EQ(small.weight, 64U) << "the sampler has chosen this call";
    ++timed;
    end_small(dgemm, nullptr, small, 1024);
  }
  EXPECT_NEAR(timed, calls / 64, 150);
  EXPECT_EQ(totals().routines[dgemm].calls, std::uint64_t{calls});
  EXPECT_EQ(totals().routines[dgemm].flops, 1024.0 * calls);
  EXPECT_FALSE(count_untimed_small(dgemm, 100.0 * 100 * 100, 2e6)) << "larger calls are all timed";
}

// The CPU seconds that are counted for a call whose original makes other recorded calls, which take `inside` seconds.
double seconds_of_a_call_around(double inside) {
  const SmallCall around = begin_small(1e9);
  const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
  nanosleep(&pause, nullptr);
  Record record = offloaded_record();
  record.seconds = inside;
  add(record);
  end_small(static_cast<std::size_t>(blas::Routine::zgemm), nullptr, around, 0);
  return totals().routines[static_cast<std::size_t>(blas::Routine::zgemm)].cpu_seconds;
}

TEST_F(RecorderTest, TheTimeOfCallsInsideACallDoesNotCountAgain) {
  const double alone = seconds_of_a_call_around(0);
  EXPECT_GE(alone, 0.02);
  reset();
  const double around = seconds_of_a_call_around(0.015);
  EXPECT_LT(around, alone);
  EXPECT_GE(around, 0.005);
  EXPECT_EQ(totals().routines[dgemm].device_seconds, 0.015);
}

TEST_F(RecorderTest, ACallNeverTakesLessThanNothing) {
  EXPECT_EQ(seconds_of_a_call_around(100), 0);
}

TEST_F(RecorderTest, SamplesDoNotFallInWithTheLoop) {
  int odd = 0;
  int even = 0;
  for (int i = 0; i < 64000; ++i) {
    const SmallCall small = begin_small(1);
    if (small.weight != 0) ++(i % 2 == 0 ? even : odd);
  }
  EXPECT_GT(odd, 250);
  EXPECT_GT(even, 250);
}

TEST_F(RecorderTest, LargerCallsAreAllTimed) {
  for (int i = 0; i < 1000; ++i) {
    const SmallCall small = begin_small(100.0 * 100 * 100);
    EXPECT_EQ(small.weight, 1U);
    end_small(dgemm, nullptr, small, 2e6);
  }
  EXPECT_GT(totals().routines[dgemm].cpu_seconds, 0.0);
}

TEST_F(RecorderTest, ChildOfForkStartsFromNothing) {
  add(offloaded_record());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    reset();
    add(offloaded_record());
    _exit(totals().routines[dgemm].calls == 1 ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
  EXPECT_EQ(totals().routines[dgemm].calls, 1U);
}

}  // namespace
}  // namespace blastoff::report
