// Every setting. config/options.def drives parsing, range checks, `blastoff run --help`, the list in reports and the
// documentation.
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
enum class EndMode : std::uint8_t { automatic, background, wait };
enum class SummaryMode : std::uint8_t { automatic, always, each, never };
enum class LogMode : std::uint8_t { none, calls };
enum class VerifyMode : std::uint8_t { off, report, abort, sample };
enum class SplitMode : std::uint8_t { automatic, always, never };
enum class ExchangeMode : std::uint8_t { automatic, always, never };
enum class GatherMode : std::uint8_t { automatic, always, never };
enum class TrackerName : std::uint8_t { automatic, uffd, soft_dirty, none };
enum class InterceptName : std::uint8_t { automatic, patch, preload };
enum class SimulatedSlack : std::uint8_t { on, off };
enum class SimulatedForm : std::uint8_t { separate, coherent, unified, pageable };

/// A size of device memory: bytes, or a share of what is free when the device starts.
struct MemorySize {
  double percent = 0;  ///< of free memory; 0: `bytes` applies
  std::uint64_t bytes = 0;
};

struct Log {
  LogMode mode = LogMode::none;
  std::string file;  ///< to which lines are appended; "": stderr
};

struct Verify {
  VerifyMode mode = VerifyMode::off;
  double share = 1;  ///< of offloaded calls that are checked (sample)
};

/// The directory in which the processes of a run keep their counters, set by `blastoff run`; no setting.
inline constexpr const char* run_directory_variable = "BLASTOFF_RUN_DIRECTORY";

/// The settings in force. Names and defaults: config/options.def.
struct Settings {
  PolicyName policy{};
  MechanismName mechanism{};
  std::int64_t device_node = -1;  ///< -1: the driver knows
  std::string device;             ///< a kind of device/kinds.def, with numbers or without, or "none"
  SplitMode split{};
  ExchangeMode exchange{};
  GatherMode gather{};
  InterceptName intercept{};
  std::string trust;
  std::optional<std::int64_t> min_size;  ///< nothing: it follows from how calls are decided
  DecideBy decide{};
  StartMode start{};
  HistoryMode history{};
  EndMode end{};
  std::string model;         ///< path of a machine model, "" to look for one, or "none"
  std::int64_t explain = 0;  ///< decisions to print at the end
  MemorySize device_memory{};
  TrackerName tracker{};
  SummaryMode summary{};
  std::string report;  ///< path pattern, "" for none
  Log log;
  std::string trace;         ///< path pattern, "" for none
  MemorySize trace_limit{};  ///< bytes of a trace
  Verify verify;
  std::int64_t copy_threads = 0;  ///< 0: chosen from the CPU set
  std::string cuda_path;
  MemorySize simulated_memory{};
  SimulatedForm simulated_form{};
  std::string simulated_rates;  ///< "" for real time
  std::string simulated_fault;
  std::int64_t simulated_devices = 0;  ///< that simulated:all is
  SimulatedSlack simulated_slack{};
};

/// Reads the BLASTOFF_* environment. A bad value is reported in one line that says what is accepted; the default stays.
/// An unknown BLASTOFF_ variable is reported too (with the nearest known name).
Settings read_settings();

/// Changes with the variables by which a user tells Blastoff, CUDA, OpenMP and the BLAS libraries what to do.
std::uint64_t fingerprint_of_variables();

/// What these settings mean, which depends on others where they are automatic. Never automatic.
DecideBy decide_by(const Settings& settings);
StartMode start_mode(const Settings& settings);
EndMode end_mode(const Settings& settings);

/// The two settings that are needed when the library is loaded. Prints nothing: read_settings() reports a bad value.
InterceptName read_intercept_mode();
std::string read_trusted_names();

/// Every option: name as in the report ("min-size"), value as text.
std::vector<std::pair<std::string, std::string>> describe(const Settings& settings);

/// The option table as JSON, for the launcher and the documentation: a list of objects with name, environment, values
/// (what is accepted, as text), kind ("choice", "integer", "memory", "text"), choices, minimum, maximum, default, help,
/// and `audience` ("user" or "test").
std::string options_json();

}  // namespace blastoff::config
