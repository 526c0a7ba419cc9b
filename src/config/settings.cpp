#include "config/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "config/option_value.h"
#include "config/options.def"
#include "config/options.h"
#include "device/kinds.h"
#include "platform/log.h"
#include "platform/process.h"

namespace blastoff::config {

namespace {

/// The variable that identifies the processes of one `blastoff run` (report/file.h); no setting.
constexpr std::string_view run_variable = "BLASTOFF_RUN";

/// Prefixes of variables that configure Blastoff and the libraries that it uses.
constexpr std::array<std::string_view, 8> telling_prefixes{"BLASTOFF_", "CUDA_", "NVIDIA_", "OMP_",
                                                           "OPENBLAS_", "GOTO_", "MKL_",    "BLIS_"};

/// The share for --verify=sample without a number.
constexpr double default_share = 0.01;

/// Parses `text` into a field of Settings; false leaves the field as it was.
template <class Field>
bool assign(Field& field, const Accepted& accepted, std::string_view text) {
  const std::optional<Value> value = parse_value(accepted, text);
  if (!value) return false;
  if constexpr (std::is_enum_v<Field>) {
    field = static_cast<Field>(value->choice);
  } else if constexpr (std::is_same_v<Field, std::int64_t> || std::is_same_v<Field, std::optional<std::int64_t>>) {
    field = value->integer;
  } else if constexpr (std::is_same_v<Field, MemorySize>) {
    field = {value->percent, value->bytes};
  } else if constexpr (std::is_same_v<Field, Verify>) {
    const auto sample = static_cast<std::size_t>(VerifyMode::sample);
    field.mode = static_cast<VerifyMode>(std::min(value->choice, sample));
    field.share = field.mode != VerifyMode::sample ? 1 : value->choice == sample ? default_share : value->percent / 100;
  } else if constexpr (std::is_same_v<Field, Log>) {
    field.mode = value->choice == 0 ? LogMode::none : LogMode::calls;
    field.file = value->text;
  } else {
    field = text;
  }
  return true;
}

template <class Field>
std::string format(const Field& field, const Accepted& accepted) {
  if constexpr (std::is_enum_v<Field>) {
    return std::string(split_choices(accepted.values)[static_cast<std::size_t>(field)]);
  } else if constexpr (std::is_same_v<Field, std::int64_t>) {
    return std::to_string(field);
  } else if constexpr (std::is_same_v<Field, std::optional<std::int64_t>>) {
    return field ? std::to_string(*field) : "";
  } else if constexpr (std::is_same_v<Field, MemorySize>) {
    return format_memory(field);
  } else if constexpr (std::is_same_v<Field, Verify>) {
    const std::string mode(split_choices(accepted.values)[static_cast<std::size_t>(field.mode)]);
    return field.mode == VerifyMode::sample ? fmt::format("{}={:.4g}%", mode, 100 * field.share) : mode;
  } else if constexpr (std::is_same_v<Field, Log>) {
    const std::string mode(split_choices(accepted.values)[static_cast<std::size_t>(field.mode)]);
    return field.file.empty() ? mode : mode + "=" + field.file;
  } else {
    return field;
  }
}

/// Takes the default first, then the environment variable. An empty variable counts as not set.
template <class Field>
void read(Field& field, const Option& option) {
  assign(field, option.accepted, option.initial);
  const char* text = secure_getenv(option.environment);
  if (text == nullptr || *text == '\0' || assign(field, option.accepted, std::string_view(text))) return;
  const bool has_default = *option.initial != '\0';
  platform::log_line("invalid value %s=%.200s; accepted: %s%s%s", option.environment, text,
                     describe_accepted(option.accepted).c_str(), has_default ? "; using " : "", option.initial);
}

bool known(std::string_view variable) {
  return variable == run_variable ||
         std::ranges::any_of(options(), [&](const Option& option) { return variable == option.environment; });
}

const char* nearest_known(std::string_view variable) {
  return std::ranges::min(options(), {},
                          [&](const Option& option) { return edit_distance(variable, option.environment); })
      .environment;
}

void report_unknown_variables() {
  if (environ == nullptr || platform::has_elevated_rights()) return;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string variable(text.substr(0, std::min(text.find('='), std::size_t{80})));
    if (!variable.starts_with("BLASTOFF_") || known(variable)) continue;
    platform::log_line("unknown setting %s (did you mean %s?)", variable.c_str(), nearest_known(variable));
  }
}

bool is_timed(const Settings& settings) {
  const auto named = device::find_kind(settings.device);
  return named && named->kind->timed;
}

/// The value of one option, whose default is its first choice.
template <class Name>
Name read_early(std::string_view name) {
  const Option& option = *std::ranges::find(options(), name, &Option::name);
  Name value{};
  if (const char* const text = secure_getenv(option.environment)) assign(value, option.accepted, text);
  return value;
}

}  // namespace

Settings read_settings() {
  Settings settings;
  std::size_t row = 0;
#define BLASTOFF_READ(field, ...) read(settings.field, options()[row++]);
  BLASTOFF_LIBRARY_OPTIONS(BLASTOFF_READ)
#undef BLASTOFF_READ
  report_unknown_variables();
  return settings;
}

std::uint64_t fingerprint_of_variables() {
  std::uint64_t sum = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto begins = [&](std::string_view prefix) { return text.starts_with(prefix); };
    if (std::ranges::any_of(telling_prefixes, begins)) sum += std::hash<std::string_view>()(text);
  }
  return sum;
}

// Without a device, times are measured for later runs that have one.
DecideBy decide_by(const Settings& settings) {
  if (settings.decide != DecideBy::automatic) return settings.decide;
  return is_timed(settings) || settings.device == "none" ? DecideBy::time : DecideBy::size;
}

StartMode start_mode(const Settings& settings) {
  if (settings.start != StartMode::automatic) return settings.start;
  return is_timed(settings) ? StartMode::background : StartMode::now;
}

ResultsMode results_mode(const Settings& settings) {
  if (settings.results != ResultsMode::automatic) return settings.results;
  return is_timed(settings) ? ResultsMode::automatic : ResultsMode::home;
}

InterceptName read_intercept_mode() {
  return read_early<InterceptName>("intercept");
}

CountName read_counted() {
  return read_early<CountName>("count");
}

std::string read_trusted_names() {
  const char* const text =
      secure_getenv(std::ranges::find(options(), std::string_view("trust"), &Option::name)->environment);
  return text == nullptr ? "" : text;
}

std::vector<std::pair<std::string, std::string>> describe(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> echo;
#define BLASTOFF_DESCRIBE(field, ...) \
  echo.emplace_back(options()[echo.size()].name, format(settings.field, options()[echo.size()].accepted));
  BLASTOFF_LIBRARY_OPTIONS(BLASTOFF_DESCRIBE)
#undef BLASTOFF_DESCRIBE
  return echo;
}

}  // namespace blastoff::config
