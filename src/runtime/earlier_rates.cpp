#include "runtime/earlier_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platform/fnv_hash.h"
#include "platform/reserve.h"
#include "report/file.h"
#include "runtime/earlier_run_json.h"
#include "runtime/run_history.h"
#include "runtime/user_cache.h"

namespace blastoff::runtime {

namespace {

using Json = nlohmann::json;
using decide::CpuRate;
using report::EarlierRun;

/// Version of the files' format.
constexpr int version = 2;

constexpr std::chrono::seconds max_age = std::chrono::hours(24 * 30);

/// A run counts as this many calls at most, all earlier ones together as four such runs: the speed of a CPU differs
/// from run to run, however many calls each makes.
constexpr std::uint32_t max_calls_of_a_run = 16;
constexpr std::uint32_t max_calls = 4 * max_calls_of_a_run;
/// A smaller change of a rate is not worth writing, once it is the mean of `max_calls`.
constexpr double clear_change = 1.01;
/// The same for whole runs, whose mean moves by a quarter of a difference.
constexpr double clear_change_of_run = 1.0025;

bool differ_clearly(double one, double other, double change = clear_change) {
  return std::max(one, other) > change * std::min(one, other);
}

/// Adds what a later run has shown. Returns whether that is worth keeping.
bool merge(CpuRate& known, const CpuRate& latest) {
  const std::uint32_t calls = std::min(latest.calls, max_calls_of_a_run);
  if (calls == 0) return false;
  const CpuRate before = known;
  const double sum = before.seconds_per_flop * before.calls + latest.seconds_per_flop * calls;
  known.calls = std::min(before.calls + calls, max_calls);
  known.seconds_per_flop = sum / (before.calls + calls);
  return known.calls != before.calls || differ_clearly(known.seconds_per_flop, before.seconds_per_flop);
}

/// The file's content, if it is this command's; else an empty object.
Json content_for(const std::string& text, std::uint64_t command) {
  Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || file.value("version", Json()) != version) return Json::object();
  if (file.value("command", Json()) != fmt::format("{:016x}", command)) return Json::object();
  return file;
}

std::vector<CpuRate> rates_in(const Json& file) {
  std::vector<CpuRate> rates;
  const Json list = file.value("cpu", Json());
  if (!list.is_array() || list.size() > EarlierRates::max_rates) return {};
  for (const Json& each : list) {
    const bool right = each.is_array() && each.size() == 3 && each[0].is_number_unsigned() && each[1].is_number() &&
                       each[2].is_number_unsigned() && each[2] <= max_calls;
    const double rate = right ? each[1].get<double>() : 0;
    if (!std::isfinite(rate) || rate <= 0) return {};
    rates.push_back({each[0].get<std::uint64_t>(), rate, each[2].get<std::uint32_t>()});
  }
  return rates;
}

std::string text_of(std::uint64_t command, const std::vector<CpuRate>& rates, const std::optional<EarlierRun>& run) {
  const platform::FromReserve for_json;
  Json list = Json::array();
  for (const CpuRate& each : rates) list.push_back({each.key, each.seconds_per_flop, each.calls});
  Json file = {{"version", version}, {"command", fmt::format("{:016x}", command)}, {"cpu", list}};
  if (run) file["run"] = json_of(*run);
  return file.dump() + "\n";
}

}  // namespace

EarlierRates::EarlierRates(const std::string& conditions) {
  const std::string text_of_command = command_of_process();
  command_ = platform::hash(text_of_command + '\0' + conditions);
  path_ = path_in_cache("rates", text_of_command);
  const auto age = path_.empty() ? std::nullopt : age_of(path_);
  if (!age || *age > max_age) return;
  const auto text = content_of(path_);
  if (!text) return;
  const platform::FromReserve for_json;
  const Json file = content_for(*text, command_);
  rates_ = rates_in(file);
  cpu_run_ = run_in(file.value("run", Json()));
}

void EarlierRates::keep(const std::vector<CpuRate>& rates, const std::optional<EarlierRun>& cpu_run) const {
  if (path_.empty() || (rates.empty() && !cpu_run)) return;
  std::vector<CpuRate> known = rates_;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < known.size(); ++i) places.emplace(known[i].key, i);
  const std::optional<EarlierRun> run = cpu_run ? mean_with(cpu_run_.value_or(EarlierRun{}), *cpu_run) : cpu_run_;
  bool tells = cpu_run && (!cpu_run_ || differ_clearly(cpu_run_->flops, run->flops) || cpu_run_->runs != run->runs ||
                           differ_clearly(cpu_run_->seconds, run->seconds, clear_change_of_run));
  for (const CpuRate& each : rates) {
    const auto place = places.find(each.key);
    if (place == places.end()) {
      if (known.size() == max_rates) continue;
      known.push_back({each.key, each.seconds_per_flop, std::min(each.calls, max_calls_of_a_run)});
      tells = true;
    } else if (merge(known[place->second], each)) {
      tells = true;
    }
  }
  if (tells) report::replace_file(path_, text_of(command_, known, run));
}

}  // namespace blastoff::runtime
