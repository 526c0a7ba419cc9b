// Counters that another process reads. Each test runs in a child, since a process can keep its counters in only one
// place.
#include "report/counter_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "blas_front_end.h"
#include "child.h"
#include "platform/span.h"
#include "report/counter_layout.h"
#include "report/leftovers.h"
#include "report/recorder.h"
#include "report/run_space.h"
#include "report/thread_counters.h"
#include "temporary_folder.h"

namespace blastoff::report {
namespace {

constexpr auto dgemm = static_cast<std::size_t>(blas::Routine::dgemm);

Record refused_record() {
  Record record;
  record.routine = dgemm;
  record.symbol = "dgemm_";
  record.refusal = Refusal::too_shallow;
  record.seconds = 0.5;
  record.flops = 2e9;
  return record;
}

class CounterFile : public testing::Test {
 protected:
  /// Runs `body` in a child that keeps its counters in the directory. Returns the child's wait status.
  template <class Body>
  int in_child(const Body& body) const {
    return in_child_without_directory([&] {
      keep_counters_in(directory.c_str());
      body();
    });
  }

  template <class Body>
  int in_child_without_directory(const Body& body) const {
    const pid_t child = fork();
    if (child == 0) {
      reset();
      leave_thread_counters();  // the counters of earlier tests, in memory
      body();
      _exit(0);
    }
    return test::status_of(child);
  }

  /// The reports of all processes, in the order of their numbers of calls.
  std::vector<nlohmann::json> reports() const {
    std::vector<nlohmann::json> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".counters")
        all.push_back(nlohmann::json::parse(report_of_counter_file(entry.path())));
    }
    std::ranges::sort(all, {}, [](const nlohmann::json& report) { return report["totals"]["calls"].get<int>(); });
    return all;
  }

  const test::TemporaryFolder folder{};
  std::filesystem::path directory = folder.path;
};

TEST_F(CounterFile, SurvivesAProcessThatIsKilled) {
  const int status = in_child([] {
    add(refused_record());
    add(refused_record());
    raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const auto all = reports();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["totals"]["calls"], 2);
  EXPECT_EQ(all[0]["totals"]["cpu_seconds"], 1.0);
  EXPECT_EQ(all[0]["routines"][0]["name"], "dgemm");
  EXPECT_EQ(all[0]["refusals"][0]["calls"], 2);
  EXPECT_EQ(all[0]["process"]["ended"], "");
  EXPECT_EQ(all[0]["process"]["incomplete"], false);
}

TEST_F(CounterFile, LiesBesideAReportUntilThatIsWritten) {
  if (!keeps_removed_files(directory.c_str())) GTEST_SKIP() << "a file system on which nothing is kept";
  const std::string report = directory / "run.json";
  const int status = in_child_without_directory([&] {
    keep_counters_beside(report);
    add(refused_record());
    const bool apart = counters_are_kept() && !run_goes_on() && *run_directory() == '\0';
    const bool there = std::filesystem::is_directory(report + counters_beside);
    drop_counters_beside();
    _exit(apart && there && !std::filesystem::exists(report + counters_beside) ? 3 : 4);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(CounterFile, BesideAReportOutlivesItsProcessUntilTheNextRun) {
  if (!keeps_removed_files(directory.c_str())) GTEST_SKIP() << "a file system on which nothing is kept";
  const std::string report = directory / "run.json";
  const auto killed = [&] {
    keep_counters_beside(report);
    add(refused_record());
    raise(SIGKILL);
  };
  in_child_without_directory(killed);
  in_child_without_directory(killed);
  directory = report + counters_beside;
  EXPECT_EQ(reports().size(), 1U);
  directory = directory.parent_path();
}

TEST_F(CounterFile, OfAnotherHostStaysBesideAReport) {
  if (!keeps_removed_files(directory.c_str())) GTEST_SKIP() << "a file system on which nothing is kept";
  const std::string report = directory / "run.json";
  in_child_without_directory([&] {
    keep_counters_beside(report);
    add(refused_record());
    keep_description(R"({"process": {"pid": 1, "host": "elsewhere"}, "device": {}, "interception": {}})");
    raise(SIGKILL);
  });
  in_child_without_directory([&] {
    keep_counters_beside(report);
    add(refused_record());
    raise(SIGKILL);
  });
  directory = report + counters_beside;
  EXPECT_EQ(reports().size(), 2U);
  directory = directory.parent_path();
}

TEST_F(CounterFile, IsKeptOnFileSystemsThatKeepWhatIsRemoved) {
  EXPECT_FALSE(keeps_removed_files((directory / "none").c_str()));
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP();
  EXPECT_TRUE(keeps_removed_files("/dev/shm"));
}

TEST_F(CounterFile, IsDescribedBySeveralThreadsAtOnce) {
  in_child([] {
    add(refused_record());
    std::vector<std::thread> threads;
    std::latch together(8);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        for (int k = 0; k < 50; ++k) keep_description(R"({"process": {"pid": 1}, "device": {}, "interception": {}})");
      });
    }
    for (std::thread& thread : threads) thread.join();
    keep_end();
  });
  const auto all = reports();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["process"]["incomplete"], false);
  for (const auto& entry : std::filesystem::directory_iterator(directory)) EXPECT_NE(entry.path().extension(), ".tmp");
}

TEST_F(CounterFile, TellsWhatTheProcessHasDescribed) {
  in_child([] {
    keep_interceptors({14, 3});
    keep_description(R"({"process": {"pid": )" + std::to_string(getpid()) +
                     R"(, "host": "node17"}, "device": {"kind": "cuda", "name": "H100"}, "interception": {}})");
    add(refused_record());
    memory_gauge().device += 4096;
    keep_end();
  });
  const auto all = reports();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["process"]["ended"], "exit");
  EXPECT_EQ(all[0]["process"]["host"], "node17");
  EXPECT_EQ(all[0]["device"]["name"], "H100");
  EXPECT_EQ(all[0]["device"]["memory_in_use"], 4096);
  EXPECT_EQ(all[0]["interception"]["objects_seen"], 14);
  EXPECT_EQ(all[0]["interception"]["functions_found"], 3);
  EXPECT_EQ(all[0]["totals"]["calls"], 1);
}

TEST_F(CounterFile, ShowsMemoryWhileTheProcessRuns) {
  const int status = in_child([this] {
    platform::MemoryGauge& gauge = memory_gauge();
    gauge.device = 700;
    gauge.mirrored = 500;
    gauge.pinned = 300;
    gauge.staged = 200;
    gauge.to_device += 90;
    gauge.from_device += 40;
    const int file = open((*std::filesystem::directory_iterator(directory)).path().c_str(), O_RDONLY);
    const auto kept = memory_of_counter_file(file);
    const bool right = kept && kept->device == 700 && kept->mirrored == 500 && kept->pinned == 300 &&
                       kept->staged == 200 && kept->to_device == 90 && kept->from_device == 40;
    _exit(right ? 3 : 4);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  const int none = open("/dev/zero", O_RDONLY);
  EXPECT_FALSE(memory_of_counter_file(none));
  close(none);
  EXPECT_FALSE(memory_of_counter_file(none));
}

TEST_F(CounterFile, WithoutADirectoryMemoryShowsInTheProcess) {
  memory_gauge().staged += 5;
  EXPECT_EQ(memory_gauge().staged, 5U);
  memory_gauge().staged -= 5;
}

TEST_F(CounterFile, HasRoomForEachThread) {
  constexpr int threads = 200;
  in_child([] {
    std::latch all_count(threads);
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        add(refused_record());
        all_count.arrive_and_wait();  // so that no thread reuses another thread's block
        add(refused_record());
      });
    }
    for (std::thread& worker : workers) worker.join();
    raise(SIGKILL);
  });
  ASSERT_EQ(reports().size(), 1U);
  EXPECT_EQ(reports()[0]["totals"]["calls"], 2 * threads);
}

TEST_F(CounterFile, OfAForkedChildIsItsOwn) {
  in_child([] {
    add(refused_record());
    const pid_t child = fork();
    if (child == 0) {
      reset();
      for (int i = 0; i < 3; ++i) add(refused_record());
      std::thread([] { add(refused_record()); }).join();
      raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
    add(refused_record());
    if (totals().routines[dgemm].calls != 2) _exit(1);
  });
  const auto all = reports();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["totals"]["calls"], 2);
  EXPECT_EQ(all[1]["totals"]["calls"], 4);
  EXPECT_NE(all[0]["process"]["pid"], all[1]["process"]["pid"]);
}

TEST_F(CounterFile, OfAChildWithoutCallsIsNotMade) {
  in_child([] {
    const pid_t child = fork();
    if (child == 0) {
      reset();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  });
  EXPECT_EQ(reports().size(), 1U);
}

TEST_F(CounterFile, WithoutRoomTheCountsStayInTheProcess) {
  const int status = in_child([] {
    rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);  // the limit for each file: only the header fits
    add(refused_record());
    const bool right = totals().routines[dgemm].calls == 1 && !counters_are_kept();
    _exit(right ? 3 : 4);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  ASSERT_EQ(reports().size(), 1U);
  EXPECT_EQ(reports()[0]["process"]["incomplete"], true);
  EXPECT_EQ(reports()[0]["totals"]["calls"], 0);
}

/// Sets a limit of `bytes` for a directory, with a second directory on disk if one is given.
void limit(const std::filesystem::path& directory, std::int64_t bytes, const std::filesystem::path& disk = {}) {
  std::ofstream(directory / quota_file, std::ios::binary).write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  if (!disk.empty()) std::filesystem::create_symlink(disk, directory / on_disk);
}

std::int64_t left_in(const std::filesystem::path& directory) {
  std::int64_t bytes = 0;
  std::ifstream(directory / quota_file, std::ios::binary).read(reinterpret_cast<char*>(&bytes), sizeof bytes);
  return bytes;
}

TEST_F(CounterFile, GoesOnWhereThereIsRoomAndReturnsIt) {
  const std::filesystem::path disk = directory.string() + "-disk";
  std::filesystem::create_directory(disk);
  const auto page = static_cast<std::int64_t>(platform::page_size());
  const auto block = static_cast<std::int64_t>(counter_block_bytes(platform::page_size()));
  for (const std::int64_t room : {std::int64_t{0}, page, page + block, 100 * block}) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    limit(directory, room, disk);
    in_child([] {
      keep_description(R"({"process": {"pid": 1}, "device": {}, "interception": {}})");
      std::latch both(2);
      const auto count = [&] {
        both.arrive_and_wait();  // so that each has a block
        add(refused_record());
      };
      std::thread other(count);
      count();
      other.join();
      raise(SIGKILL);
    });
    const std::filesystem::path place = room == 0 ? disk : directory;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.path().extension() != ".counters") continue;
      const auto report = nlohmann::json::parse(report_of_counter_file(entry.path()));
      EXPECT_EQ(report["totals"]["calls"], 2) << room;
      EXPECT_EQ(report["process"]["incomplete"], false) << room;
      EXPECT_FALSE(report["call_sites"].is_null());
      EXPECT_GE(left_in(directory), 0);
      remove_counter_file(entry.path());
    }
    EXPECT_EQ(left_in(directory), room);
    EXPECT_TRUE(std::filesystem::is_empty(disk)) << room;
  }
  std::filesystem::remove_all(disk);
}

TEST_F(CounterFile, LeavesNoGapForABlockThatWentElsewhere) {
  const std::filesystem::path disk = directory.string() + "-disk";
  std::filesystem::create_directory(disk);
  const auto page = static_cast<std::int64_t>(platform::page_size());
  const auto block = static_cast<std::int64_t>(counter_block_bytes(platform::page_size()));
  limit(directory, page, disk);
  in_child([&] {
    add(refused_record());
    limit(directory, block);
    std::thread([] { add(refused_record()); }).join();
    raise(SIGKILL);
  });
  EXPECT_EQ(left_in(directory), 0);
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".counters") {
      EXPECT_EQ(nlohmann::json::parse(report_of_counter_file(entry.path()))["totals"]["calls"], 2);
      remove_counter_file(entry.path());
    }
  EXPECT_EQ(left_in(directory), page + block);
  std::filesystem::remove_all(disk);
}

TEST_F(CounterFile, TakesNothingWhereAllIsTaken) {
  limit(directory, 0);
  const int status = in_child([] {
    add(refused_record());
    _exit(!counters_are_kept() && totals().routines[dgemm].calls == 1 ? 3 : 4);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(reports().empty());
}

TEST_F(CounterFile, OfAnotherNamespaceCountsAsRunning) {
  const auto name = [](std::uint64_t space) { return fmt::format("{}-{}-0-{}", getpid(), boot_nanoseconds(), space); };
  EXPECT_TRUE(is_of_living_process(name(platform::pid_namespace())));
  EXPECT_FALSE(is_of_living_process(fmt::format("{}-1-0-{}", getpid(), platform::pid_namespace())))
      << "made before it started";
  EXPECT_TRUE(is_of_living_process(fmt::format("{}-1-0-{}", getpid(), platform::pid_namespace() + 1)));
}

TEST_F(CounterFile, WithoutADirectoryTheCountsStayInTheProcess) {
  directory /= "missing";
  const int status = in_child([] {
    add(refused_record());
    _exit(!counters_are_kept() && totals().routines[dgemm].calls == 1 ? 3 : 4);
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(CounterFile, IsRecognised) {
  EXPECT_EQ(report_of_counter_file(directory / "missing"), "");
  std::ofstream(directory / "other") << std::string(10000, 'x');
  EXPECT_EQ(report_of_counter_file(directory / "other"), "");
  std::ofstream(directory / "empty");
  EXPECT_EQ(report_of_counter_file(directory / "empty"), "");
}

}  // namespace
}  // namespace blastoff::report
