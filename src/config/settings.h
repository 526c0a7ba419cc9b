// Every setting of the library. Parsing, range checks, `blastoff run --help`, the list in reports and the documentation
// are generated from config/options.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace blastoff::config {

enum class PolicyName : std::uint8_t { automatic, first_use, coherent, copy };
enum class MechanismName : std::uint8_t { automatic, mirrors, moves, prefetch };
enum class DecideBy : std::uint8_t { automatic, time, size };
enum class StartMode : std::uint8_t { automatic, background, now };
enum class HistoryMode : std::uint8_t { on, off };
enum class SummaryMode : std::uint8_t { automatic, always, each, never };
enum class ArgumentsMode : std::uint8_t { keep, drop };
enum class LogMode : std::uint8_t { none, calls };
enum class VerifyMode : std::uint8_t { off, report, abort, sample };
enum class SplitMode : std::uint8_t { automatic, always, never };
enum class ResultsMode : std::uint8_t { automatic, home, stay };
enum class ExchangeMode : std::uint8_t { automatic, always, never };
enum class GatherMode : std::uint8_t { automatic, always, never };
enum class GatherGpus : std::uint8_t { automatic, one, all };
enum class TrackerName : std::uint8_t { automatic, uffd, soft_dirty, none };
enum class InterceptName : std::uint8_t { automatic, patch, preload };
enum class CountName : std::uint8_t { none, level1, pblas, all };
enum class SimulatedSlack : std::uint8_t { on, off };
enum class SimulatedForm : std::uint8_t { separate, coherent, unified, pageable };

/// A size of device memory: bytes, or a share of the memory that is free when the device starts.
struct MemorySize {
  double percent = 0;  ///< percent of free memory; 0: `bytes` applies
  std::uint64_t bytes = 0;
};

struct Log {
  LogMode mode = LogMode::none;
  std::string file;  ///< file to which lines are appended; "": stderr
};

struct Verify {
  VerifyMode mode = VerifyMode::off;
  double share = 1;  ///< share of the offloaded calls that are checked (sample)
};

/// The variable that names the directory in which the processes of a run keep their counters. `blastoff run` sets it;
/// it is no setting.
inline constexpr const char* run_directory_variable = "BLASTOFF_RUN_DIRECTORY";

/// The settings in force. Names and defaults: config/options.def.
struct Settings {
  PolicyName policy{};
  MechanismName mechanism{};
  std::int64_t device_node = -1;  ///< NUMA node of the device; -1: the driver tells
  std::string device;             ///< a kind of device/kinds.def, with or without numbers, or "none"
  SplitMode split{};
  ExchangeMode exchange{};
  ResultsMode results{};
  GatherMode gather{};
  GatherGpus gather_gpus{};
  InterceptName intercept{};
  std::string trust;
  CountName count{};
  std::string routines;                  ///< which routines are offloaded (config/routine_choice.h); "": all
  std::optional<std::int64_t> min_size;  ///< nothing: the default depends on how calls are decided
  DecideBy decide{};
  StartMode start{};
  HistoryMode history{};
  std::string model;         ///< path of a machine model; "": search for one; or "none"
  std::int64_t explain = 0;  ///< number of decisions to print at the end
  MemorySize device_memory{};
  TrackerName tracker{};
  SummaryMode summary{};
  std::string report;  ///< path pattern, "" for none
  ArgumentsMode arguments{};
  Log log;
  std::string trace;         ///< path pattern, "" for none
  MemorySize trace_limit{};  ///< largest size of a trace, in bytes
  Verify verify;
  std::int64_t copy_threads = 0;  ///< 0: chosen by the CPU set
  std::string toolkit_path;
  MemorySize simulated_memory{};
  SimulatedForm simulated_form{};
  std::string simulated_rates;  ///< "": in real time
  std::string simulated_fault;
  std::int64_t simulated_devices = 0;  ///< number of devices of simulated:all
  SimulatedSlack simulated_slack{};
};

/// Reads the BLASTOFF_* environment variables. A bad value is reported in one line that says what is accepted; the
/// default is used. An unknown BLASTOFF_ variable is also reported, with the nearest known name.
Settings read_settings();

/// Returns a hash of the variables by which a user configures Blastoff, CUDA, OpenMP and the BLAS libraries.
std::uint64_t fingerprint_of_variables();

/// These functions resolve settings that are automatic, which depend on other settings. They never return `automatic`,
/// but for results_mode(), where that is a mode.
DecideBy decide_by(const Settings& settings);
StartMode start_mode(const Settings& settings);
ResultsMode results_mode(const Settings& settings);

/// The settings that are needed when the library is loaded. Prints nothing: read_settings() reports bad values.
InterceptName read_intercept_mode();
CountName read_counted();
std::string read_trusted_names();

/// Returns every option: its name as in the report ("min-size"), and its value as text.
std::vector<std::pair<std::string, std::string>> describe(const Settings& settings);

/// Returns the option table as JSON, for the launcher and the documentation: a list of objects. Each has name,
/// environment, kind ("choice", "integer", "memory", "duration", "text"), values (what is accepted, as text), default,
/// help, audience ("user" or "test") and scope; where they apply also choices, minimum, maximum, percent and bare.
std::string options_json();

}  // namespace blastoff::config
