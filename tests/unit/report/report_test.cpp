#include "report/context.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "blas_front_end.h"
#include "child.h"
#include "platform/quantity.h"
#include "report/call_log.h"
#include "report/file.h"
#include "report/json.h"
#include "report/special_file.h"
#include "report/summary.h"
#include "report/text.h"
#include "report/thread_counters.h"
#include "temporary_folder.h"

namespace blastoff::report {
namespace {

using platform::format_bytes;
using platform::format_duration;
using platform::format_number;
using platform::format_seconds;

using testing::ElementsAre;
using testing::HasSubstr;

using testing::Not;
using testing::StartsWith;

Totals some_totals() {
  Totals totals;
  totals.routines.resize(operation::routine_count());
  RoutineTotals& dgemm = totals.routines[static_cast<std::size_t>(blas::Routine::dgemm)];
  dgemm = {.calls = 1234,
           .offloaded = 1200,
           .cpu_seconds = 0.25,
           .device_seconds = 2.0,
           .transfer_seconds = 0.5,
           .offloaded_flops = 5e12,
           .bytes_to_device = 1'820'000'000,
           .bytes_from_device = 614'000'000,
           .bytes_reused = 7'280'000'000,
           .bytes_read = 9'100'000'000,
           .flops = 6e12};
  RoutineTotals& ztrsm = totals.routines[static_cast<std::size_t>(blas::Routine::ztrsm)];
  ztrsm.calls = 7;
  ztrsm.cpu_seconds = 12.5;
  totals.refusals[static_cast<std::size_t>(Refusal::below_min_size)] = 41;
  return totals;
}

Context some_context() {
  Context context;
  context.run = this_run();
  context.program = "scf";
  context.command_line = "./scf input.dat";
  context.host = "node17";
  context.kernel = "6.18.0";
  context.pid = 4711;
  context.elapsed_seconds = 61.5;
  context.device_used = true;
  context.device_kind = "cuda";
  context.device.name = "NVIDIA H100 80GB HBM3";
  context.device_software = "driver 580.82, cuBLAS 13.0";
  context.device.state = "working";
  context.device.memory = 85'000'000'000;
  context.device.memory_budget = 68'000'000'000;
  context.held_memory = {{"mirrors", 12'000'000'000, 14'000'000'000}};
  context.policy_requested = "first-use";
  context.policy = "first-use";
  context.tracker = "uffd";
  context.settings = {{"policy", "first-use"}, {"min-size", "300"}};
  return context;
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class ReportFile : public testing::Test {
 protected:
  void TearDown() override { unsetenv("BLASTOFF_RUN"); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  /// Starts children that all write the report `path` at once, and expects that every report exists afterwards.
  void end_together(const std::string& path) const {
    constexpr int processes = 12;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        Context context = some_context();
        context.pid = getpid();
        _exit(write_report(path, to_json(some_totals(), context), context) ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      EXPECT_EQ(test::status_of(child), 0);
    }
    EXPECT_EQ(names().size(), std::size_t{processes});
    for (const std::string& name : names()) EXPECT_THAT(contents(directory / name), HasSubstr("node17:3:")) << name;
  }
  const test::TemporaryFolder folder{};
  const std::filesystem::path& directory = folder.path;
};

TEST(ReportJson, HasTheKeysOfTheSchema) {
  const nlohmann::json report = nlohmann::json::parse(to_json(some_totals(), some_context()));
  EXPECT_EQ(report.at("blastoff"), BLASTOFF_VERSION);
  EXPECT_EQ(report.at("process").at("pid"), 4711);
  EXPECT_TRUE(report.at("process").at("rank").is_null());
  EXPECT_EQ(report.at("settings").at("min-size"), "300");
  EXPECT_EQ(report.at("device").at("kind"), "cuda");
  EXPECT_EQ(report.at("device").at("memory_held"),
            nlohmann::json::parse(R"([{"client": "mirrors", "bytes": 12000000000, "bytes_peak": 14000000000}])"));
  EXPECT_EQ(report.at("policy").at("in_force"), "first-use");
  const nlohmann::json& totals = report.at("totals");
  EXPECT_EQ(totals.at("calls"), 1241);
  EXPECT_EQ(totals.at("offloaded"), 1200);
  EXPECT_EQ(totals.at("bytes_to_device"), 1'820'000'000);
  EXPECT_EQ(totals.at("bytes_from_device"), 614'000'000);
  EXPECT_EQ(totals.at("bytes_reused"), 7'280'000'000);
  EXPECT_EQ(totals.at("operand_reuse"), 5.0);
  EXPECT_EQ(totals.at("device_seconds"), 2.0);
  EXPECT_EQ(totals.at("cpu_seconds"), 12.75);
  EXPECT_EQ(totals.at("transfer_seconds"), 0.5);
  ASSERT_EQ(report.at("routines").size(), 2U);
  EXPECT_EQ(report.at("routines")[0].at("name"), "dgemm");
  EXPECT_EQ(report.at("refusals"),
            nlohmann::json::parse(R"([{"reason": "average size below the threshold", "calls": 41}])"));
  EXPECT_EQ(report.at("verification"),
            nlohmann::json::parse(R"({"checked": 0, "violations": 0, "worst_relative_error": 0.0, "stale_pages": 0})"));
}

TEST(ReportJson, SurvivesACommandLineThatIsNoUtf8) {
  Context context = some_context();
  context.command_line = "./scf \xe9.dat";
  EXPECT_EQ(nlohmann::json::parse(to_json(some_totals(), context)).at("process").at("command_line"),
            "./scf \xef\xbf\xbd.dat");
}

TEST(ReportJson, ReuseIsWhatDevicesReadOverWhatCameToThem) {
  EXPECT_EQ(operand_reuse({}), 0.0);
  EXPECT_EQ(operand_reuse({.bytes_read = 10}), 1.0);
  EXPECT_EQ(operand_reuse({.bytes_to_device = 20, .bytes_reused = 7790, .bytes_read = 7800}), 780.0);
  EXPECT_EQ(operand_reuse({.bytes_reused = 10, .bytes_read = 10}), 0.0) << "nothing came";
}

TEST(ReportText, FitsATerminalAndSortsByTime) {
  const std::string text = to_text(some_totals(), some_context());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  EXPECT_LT(text.find("\n  ztrsm"), text.find("\n  dgemm"));
  EXPECT_LT(text.find("\n  dgemm"), text.find("\n  total"));
  EXPECT_THAT(text, HasSubstr("used 5.00 times"));
  EXPECT_THAT(text, HasSubstr("41  average size below the threshold"));
  EXPECT_THAT(text, HasSubstr("policy    first-use, writes tracked by uffd\n"));
  EXPECT_THAT(text, Not(HasSubstr("verified")));
}

TEST(ReportText, HasAColumnForEachHeading) {
  const std::string text = to_text(some_totals(), some_context());
  EXPECT_THAT(text, HasSubstr("\n  routine       calls  offloaded     CPU s  device s  moving s   GFLOP/s   to device "
                              "from device    reused\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  dgemm          1234       1200     0.250     2.000     0.500      2500     1.82 GB   "
                        "   614 MB   7.28 GB\n"));
}

/// A front end that has one routine, with a long name.
class Transforms final : public operation::FrontEnd {
 public:
  constexpr Transforms() = default;
  std::size_t routine_count() const override { return 1; }
  const char* routine_name(std::size_t) const override { return "fftwf_execute_dft_c2r"; }
  std::string arguments(const operation::Operation&) const override { return {}; }
  std::vector<operation::Operation> pieces(const operation::Operation& whole, std::size_t) const override {
    return {whole};
  }
  std::unique_ptr<operation::Verification> verification(const operation::Operation&, const operation::Host&,
                                                        operation::Effort) const override {
    return nullptr;
  }
};
constinit Transforms transforms;

TEST(ReportText, TheFirstColumnIsAsWideAsItsLongestName) {
  operation::add_front_end(transforms);
  Totals totals = some_totals();
  totals.routines.resize(operation::routine_count());
  totals.routines.back() = totals.routines[static_cast<std::size_t>(blas::Routine::dgemm)];
  std::istringstream lines(to_text(totals, some_context()));
  std::size_t length = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" GFLOP/s ") != std::string::npos) length = line.size();
    if (line.starts_with("  fftwf") || line.starts_with("  dgemm") || line.starts_with("  total")) {
      EXPECT_EQ(line.size(), length) << line;
    }
  }
  EXPECT_GT(length, 0U);
}

TEST(ReportText, WithoutADeviceItTellsWhatTheCpuHasDone) {
  Totals totals = some_totals();
  RoutineTotals& dgemm = totals.routines[static_cast<std::size_t>(blas::Routine::dgemm)];
  dgemm = {.calls = 20, .cpu_seconds = 12.5, .flops = 1e12, .wall_seconds = 10};
  totals.routines[static_cast<std::size_t>(blas::Routine::ztrsm)].wall_seconds = 20;
  totals.refusals[static_cast<std::size_t>(Refusal::not_open)] = 10;
  totals.refusals[static_cast<std::size_t>(Refusal::no_device)] = 7;
  Context context = some_context();
  context.elapsed_seconds = 60;
  context.device_absence = "no GPU here: try";
  const std::string text = to_text(totals, context);
  EXPECT_THAT(text, HasSubstr("\n  device    no GPU here: try\n"));
  EXPECT_THAT(text, HasSubstr("\n  routine       calls     CPU s  CPU GFLOP/s  of wall time\n"));
  EXPECT_THAT(text, HasSubstr("\n  dgemm            20     12.50         80.0          25 %\n"));
  EXPECT_THAT(text, HasSubstr("\n  total            27     25.00         40.0          50 %\n"));
  EXPECT_THAT(text, HasSubstr("17  no usable device\n"));
  EXPECT_THAT(text, Not(HasSubstr("not ready")));
}

TEST(ReportText, SaysWhyAnotherPolicyIsInForce) {
  Context context = some_context();
  context.policy = "copy";
  context.tracker = "none";
  context.policy_reason = "Linux 6.1 cannot track writes";
  context.policy_asked = "first-use";
  EXPECT_THAT(to_text(some_totals(), context),
              HasSubstr("policy    copy instead of first-use: Linux 6.1 cannot track writes\n"));
}

TEST(ReportText, WithoutCallsThereIsNoTable) {
  Totals none;
  none.routines.resize(operation::routine_count());
  EXPECT_THAT(to_text(none, some_context()), HasSubstr("no call of BLAS, LAPACK or FFTW was seen"));
}

TEST(Quantity, ThreeSignificantDigits) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(999'499), "999 kB");
  EXPECT_EQ(format_bytes(999'500), "1.00 MB");
  EXPECT_EQ(format_bytes(1'820'000'000), "1.82 GB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "18.4 EB");
  EXPECT_EQ(format_duration(0), "0.00 s");
  EXPECT_EQ(format_duration(0.000842), "842 us");
  EXPECT_EQ(format_duration(0.0123), "12.3 ms");
  EXPECT_EQ(format_duration(1.5), "1.50 s");
  EXPECT_EQ(format_seconds(1685), "1685");
  EXPECT_EQ(format_seconds(0.0004), "0.000");
  EXPECT_EQ(format_number(57132), "57132");
  EXPECT_EQ(format_number(9.996), "10.0");
}

TEST(CallLine, ShowsArgumentsDecisionAndTraffic) {
  blas::Call call;
  call.routine = blas::Routine::dgemm;
  call.operand_count = 3;
  call.transpose_a = blas::Transpose::transpose;
  call.m = 32;
  call.n = 2400;
  call.k = 93536;
  const operation::Operation operation = call;
  Record record;
  record.routine = blas::id_of(call.routine);
  record.symbol = "dgemm_";
  record.policy = "first-use";
  record.seconds = 0.000842;
  record.traffic.transfer_seconds = 0.00011;
  record.traffic.bytes_from_device = 614'400;
  record.traffic.bytes_reused = 1'820'000'000;
  EXPECT_EQ(call_line(record, &operation),
            "dgemm_ T N m=32 n=2400 k=93536: device (first-use), 842 us (110 us waiting for data), 614 kB back, "
            "1.82 GB reused");
}

TEST(CallLine, ArgumentsFollowTheRoutine) {
  blas::Call call;
  call.routine = blas::Routine::ztrsm;
  call.operand_count = 2;
  call.side = blas::Side::right;
  call.uplo = blas::Uplo::lower;
  call.transpose_a = blas::Transpose::conjugate;
  call.diagonal = blas::Diagonal::unit;
  call.m = 3;
  call.n = 4;
  const operation::Operation operation = call;
  Record record;
  record.routine = blas::id_of(call.routine);
  record.symbol = "cblas_ztrsm";
  record.refusal = Refusal::below_min_size;
  record.seconds = 2e-6;
  EXPECT_EQ(call_line(record, &operation),
            "cblas_ztrsm R L C U m=3 n=4: CPU (average size below the threshold), 2.00 us");
  EXPECT_THAT(call_line(record, nullptr), StartsWith("cblas_ztrsm: CPU"));
}

TEST_F(ReportFile, PathsAreExpanded) {
  Context context = some_context();
  EXPECT_EQ(expand_path("run.json", context), "run.json");
  EXPECT_EQ(expand_path("/tmp/%h-%p-%r-%%-%x.json", context), "/tmp/node17-4711-0-%-%x.json");
  EXPECT_EQ(expand_path("100%", context), "100%");
  context.rank = 3;
  EXPECT_EQ(expand_path("run.json", context), "run.3.json");
  EXPECT_EQ(expand_path("some.dir/run", context), "some.dir/run.3");
  EXPECT_EQ(expand_path("dir/.hidden", context), "dir/.hidden.3");
  EXPECT_EQ(expand_path("run-%r.json", context), "run-3.json");
  EXPECT_EQ(expand_path("run-%h.json", context), "run-node17.3.json");
  EXPECT_EQ(expand_path("/dev/null", context), "/dev/null");
}

TEST(ReportPath, OfAChildHasTheProcessId) {
  Context context;
  EXPECT_EQ(pattern_of_child("run.trace", context), "run.%p.trace");
  EXPECT_EQ(pattern_of_child("run-%p.trace", context), "run-%p.trace");
  EXPECT_EQ(pattern_of_child("100%%p.trace", context), "100%%p.%p.trace");
  EXPECT_EQ(pattern_of_child("/dev/stdout", context), "/dev/stdout");
  context.rank = 3;
  EXPECT_EQ(pattern_of_child("run.trace", context), "run.%r.%p.trace");
  EXPECT_EQ(pattern_of_child("run-%r.trace", context), "run-%r.%p.trace");
}

TEST_F(ReportFile, TheSecondProcessOfARunTakesANameOfItsOwn) {
  setenv("BLASTOFF_RUN", "node17:1:100", 1);
  const std::string path = directory / "run.json";
  Context context = some_context();
  const std::string text = to_json(some_totals(), context);
  ASSERT_TRUE(write_report(path, text, context));
  ASSERT_TRUE(write_report(path, text, context));
  EXPECT_THAT(names(), ElementsAre("run.4711.json", "run.json"));
  ASSERT_TRUE(write_report(path, text, context)) << "another host may have a process of the same id";
  EXPECT_THAT(names(), ElementsAre("run.4711-2.json", "run.4711.json", "run.json"));
  context.run = "node17:2:200";
  ASSERT_TRUE(write_report(path, to_json(some_totals(), context), context));
  EXPECT_THAT(contents(path), HasSubstr("node17:2:200")) << "the file of an earlier run is replaced";
  EXPECT_THAT(names(), ElementsAre("run.4711-2.json", "run.4711.json", "run.json"));
}

TEST_F(ReportFile, WhatWasSaidOfAProcessWhileItRanIsReplaced) {
  const std::string path = directory / "run.json";
  Context context = some_context();
  context.run = "node17:1:100";
  ASSERT_TRUE(write_report(path, to_json(some_totals(), context), context));
  context.pid = 4712;
  context.ended = "running";
  ASSERT_TRUE(write_report(path, to_json(some_totals(), context), context));
  context.ended = "exit";
  ASSERT_TRUE(write_report(path, to_json(some_totals(), context), context));
  EXPECT_THAT(names(), ElementsAre("run.4712.json", "run.json"));
  EXPECT_THAT(contents(directory / "run.4712.json"), HasSubstr(R"("ended": "exit")"));
}

// Also if a file already had the name.
TEST_F(ReportFile, ProcessesThatEndTogetherDoNotTakeTheSameName) {
  const std::string path = directory / "run.json";
  const auto nothing = [] {};
  const auto an_old_report = [&] { std::ofstream(path) << "old"; };
  const auto a_link = [&] { std::filesystem::create_symlink("/no/such/file", path); };
  int run = 0;
  for (const std::function<void()>& before : std::vector<std::function<void()>>{nothing, an_old_report, a_link}) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    before();
    setenv("BLASTOFF_RUN", ("node17:3:" + std::to_string(++run)).c_str(), 1);
    end_together(path);
  }
}

TEST_F(ReportFile, IsWrittenWholeAndLeavesNothingElse) {
  const std::string path = directory / "run.json";
  errno = ERANGE;
  EXPECT_TRUE(write_report(path, "first", some_context()));
  EXPECT_TRUE(write_report(path, "second", some_context()));
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(contents(path), "second");
  EXPECT_THAT(names(), ElementsAre("run.json"));
}

TEST_F(ReportFile, UnwritablePathIsOneLine) {
  testing::internal::CaptureStderr();
  errno = 0;
  EXPECT_FALSE(write_report("/proc/missing/run.json", "text", some_context()));
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "blastoff: cannot write the report /proc/missing/run.json: No such file or directory\n");
}

TEST_F(ReportFile, MissingDirectoriesAreMade) {
  EXPECT_TRUE(write_report(directory / "new" / "er" / "run.json", "text", some_context()));
  EXPECT_EQ(contents(directory / "new" / "er" / "run.json"), "text");
}

TEST_F(ReportFile, ADirectoryGetsAFileOfEachProcess) {
  EXPECT_TRUE(write_report(directory, "text", some_context()));
  EXPECT_TRUE(write_report(directory / "new/", "text", some_context()));
  EXPECT_THAT(names(), ElementsAre("new", "node17-4711.json"));
  EXPECT_EQ(contents(directory / "new" / "node17-4711.json"), "text");
}

TEST_F(ReportFile, PathsAreTakenAsAShellWould) {
  setenv("HOME", directory.c_str(), 1);
  EXPECT_EQ(report_pattern("-"), "/dev/stdout");
  EXPECT_EQ(report_pattern("~/run.json"), directory / "run.json");
  EXPECT_EQ(report_pattern("~"), directory / "%h-%p.json");
  EXPECT_EQ(report_pattern("~other/run.json"), "~other/run.json");
  EXPECT_EQ(report_pattern("run.json"), "run.json");
  EXPECT_EQ(report_pattern(""), "");
}

TEST_F(ReportFile, ObstaclesAreToldBefore) {
  EXPECT_EQ(obstacle_to_report(directory / "new" / "%p.json", some_context()), "");
  EXPECT_TRUE(is_directory(directory / "new"));
  EXPECT_EQ(obstacle_to_report("/dev/stdout", some_context()), "");
  EXPECT_THAT(obstacle_to_report("/proc/missing/run.json", some_context()), StartsWith("/proc/missing: "));
}

TEST_F(ReportFile, FullDiskIsOneLine) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(write_report("/dev/full", "text", some_context()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "blastoff: cannot write the report /dev/full: No space left on device\n");
}

TEST_F(ReportFile, FileSizeLimitIsOneLineAndNoSignal) {
  const std::string path = directory / "run.json";
  ASSERT_TRUE(write_report(path, "old", some_context()));
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{0, 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    _exit(write_report(path, "new", some_context()) ? 1 : 0);
  }
  EXPECT_EQ(test::status_of(child), 0);
  EXPECT_EQ(contents(path), "old");
  EXPECT_THAT(names(), ElementsAre("run.json"));
}

TEST_F(ReportFile, ADeviceIsWrittenNotReplaced) {
  EXPECT_TRUE(write_report("/dev/null", "text", some_context()));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

/// The time that `action` took, in seconds.
double seconds_of(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(ReportFile, ALockOnTheDirectoryIsNotWaitedFor) {
  setenv("BLASTOFF_RUN", "node17:4:400", 1);
  const std::string path = directory / "run.json";
  const pid_t holder = fork();
  if (holder == 0) {
    const int file = open(directory.c_str(), O_RDONLY);
    flock(file, LOCK_EX);
    pause();
    _exit(0);
  }
  const std::string text = to_json(some_totals(), some_context());
  for (int i = 0; i < 3; ++i) EXPECT_LT(seconds_of([&] { EXPECT_TRUE(write_report(path, text, some_context())); }), 1);
  EXPECT_EQ(names().size(), 3U);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
}

TEST_F(ReportFile, AnOldReportThatIsLockedStays) {
  setenv("BLASTOFF_RUN", "node17:5:500", 1);
  const std::string path = directory / "run.json";
  std::ofstream(path) << "old";
  const int file = open(path.c_str(), O_RDONLY);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  EXPECT_TRUE(write_report(path, to_json(some_totals(), some_context()), some_context()));
  EXPECT_THAT(names(), ElementsAre("run.4711.json", "run.json"));
  EXPECT_EQ(contents(path), "old");
  close(file);
}

TEST_F(ReportFile, APipeWithoutReaderIsOneLine) {
  const std::string path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(write_report(path, "text", some_context()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "blastoff: cannot write the report " + path + ": the pipe has no reader\n");
}

TEST_F(ReportFile, APipeWhoseReaderStopsIsOneLine) {
  const std::string path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(write_report(path, std::string(1 << 20, 'x'), some_context()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "blastoff: cannot write the report " + path + ": the pipe's reader took more than two seconds\n");
  close(reader);
}

TEST_F(ReportFile, APipeIsWrittenWholeForASlowReader) {
  const std::string path = directory / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  std::size_t bytes = 0;
  const std::string text(1 << 20, 'x');
  std::thread reading([&] {
    std::array<char, 60'000> buffer{};
    while (bytes < text.size()) {
      const ssize_t length = read(reader, buffer.data(), buffer.size());
      if (length > 0) bytes += static_cast<std::size_t>(length);
      usleep(1000);
    }
  });
  EXPECT_TRUE(write_report(path, text, some_context()));
  reading.join();
  close(reader);
}

TEST_F(ReportFile, StandardOutputThatIsAFileGoesOnWhereTheProgramHasGotTo) {
  const std::string path = directory / "output";
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(file, STDOUT_FILENO);
    if (write(STDOUT_FILENO, "program\n", 8) != 8) _exit(1);
    if (!is_special_file("/dev/stdout")) _exit(2);  // checked before a file could be written in its place
    _exit(write_report("/dev/stdout", "report\n", some_context()) ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
  EXPECT_EQ(contents(path), "program\nreport\n");
  EXPECT_THAT(names(), ElementsAre("output"));
}

TEST_F(ReportFile, ALinkIsReplacedNotFollowed) {
  std::ofstream(directory / "precious") << "precious";
  std::filesystem::create_symlink(directory / "precious", directory / "run.json");
  std::filesystem::create_hard_link(directory / "precious", directory / "hard.json");
  const std::string foreseen = "run.json." + std::to_string(getpid()) + ".tmp";
  std::filesystem::create_hard_link(directory / "precious", directory / foreseen);
  for (const char* run : {"", "node17:6:600"}) {
    setenv("BLASTOFF_RUN", run, 1);
    EXPECT_TRUE(write_report(directory / "run.json", "report", some_context()));
    EXPECT_TRUE(write_report(directory / "hard.json", "report", some_context()));
  }
  EXPECT_EQ(contents(directory / "precious"), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(directory / "run.json"));
}

/// A directory like /tmp, which belongs to root and in which another user has written; the test is skipped where it
/// cannot act as both users.
class SharedDirectory : public ReportFile {
 protected:
  static constexpr uid_t other_user = 1;
  static constexpr uid_t user = 65534;

  void SetUp() override {
    ReportFile::SetUp();
    if (geteuid() != 0) GTEST_SKIP() << "only root can act as two users";
    ASSERT_EQ(chmod(directory.c_str(), 01777), 0);
  }
  void TearDown() override {
    ASSERT_EQ(seteuid(0), 0);
    ReportFile::TearDown();
  }
  /// Writes the report as `user`; returns the error, or "" on success.
  std::string write_as_user(const std::string& path) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(seteuid(user), 0);
    write_report(path, "report", some_context());
    EXPECT_EQ(seteuid(0), 0);
    return testing::internal::GetCapturedStderr();
  }
  void plant(const std::string& path) const { ASSERT_EQ(lchown(path.c_str(), other_user, other_user), 0); }
};

TEST_F(SharedDirectory, APipeThatAnotherUserHasPlantedGetsNothing) {
  const std::string path = directory / "run.json";
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  plant(path);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  for (const char* run : {"", "node17:7:700"}) {
    setenv("BLASTOFF_RUN", run, 1);
    EXPECT_THAT(write_as_user(path), HasSubstr("cannot write the report"));
  }
  std::array<char, 64> text{};
  EXPECT_LE(read(reader, text.data(), text.size()), 0);
  close(reader);
  EXPECT_THAT(names(), ElementsAre("run.json"));
}

TEST_F(SharedDirectory, ALinkToADeviceThatAnotherUserHasPlantedIsNotFollowed) {
  const std::string path = directory / "run.json";
  std::filesystem::create_symlink("/dev/full", path);
  plant(path);
  EXPECT_THAT(write_as_user(path), Not(HasSubstr("No space left")));
}

TEST_F(SharedDirectory, AnotherUsersFileStays) {
  const std::string path = directory / "run.json";
  std::ofstream(path) << "theirs";
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  plant(path);
  setenv("BLASTOFF_RUN", "node17:8:800", 1);
  EXPECT_THAT(write_as_user(path), HasSubstr("cannot write the report"));
  EXPECT_EQ(contents(path), "theirs");
}

}  // namespace
}  // namespace blastoff::report
