#include "runtime/earlier_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platform/reserve.h"
#include "report/file.h"
#include "runtime/run_history.h"
#include "runtime/user_cache.h"

namespace blastoff::runtime {

namespace {

using Json = nlohmann::json;
using decide::CpuRate;

/// Version of the files' format.
constexpr int version = 1;

constexpr std::chrono::seconds max_age = std::chrono::hours(24 * 30);

std::vector<CpuRate> parse(const std::string& text, std::uint64_t command) {
  const platform::FromReserve for_json;
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || file.value("version", Json()) != version) return {};
  if (file.value("command", Json()) != fmt::format("{:016x}", command)) return {};
  std::vector<CpuRate> rates;
  const Json list = file.value("cpu", Json());
  if (!list.is_array() || list.size() > EarlierRates::max_rates) return {};
  for (const Json& each : list) {
    const bool right = each.is_array() && each.size() == 2 && each[0].is_number_unsigned() && each[1].is_number();
    const double rate = right ? each[1].get<double>() : 0;
    if (!std::isfinite(rate) || rate <= 0) return {};
    rates.push_back({each[0].get<std::uint64_t>(), rate});
  }
  return rates;
}

std::string text_of(std::uint64_t command, const std::vector<CpuRate>& rates) {
  const platform::FromReserve for_json;
  Json list = Json::array();
  for (const CpuRate& each : rates) list.push_back({each.key, each.seconds_per_flop});
  const Json file = {{"version", version}, {"command", fmt::format("{:016x}", command)}, {"cpu", list}};
  return file.dump() + "\n";
}

}  // namespace

EarlierRates::EarlierRates(const std::string& conditions) {
  const std::string text_of_command = command_of_process();
  command_ = number_of(text_of_command + '\0' + conditions);
  path_ = path_in_cache("rates", text_of_command);
  const auto age = path_.empty() ? std::nullopt : age_of(path_);
  if (!age || *age > max_age) return;
  if (const auto text = content_of(path_)) rates_ = parse(*text, command_);
}

void EarlierRates::keep(const std::vector<CpuRate>& rates) const {
  if (path_.empty() || rates.empty()) return;
  std::vector<CpuRate> known = rates_;
  std::unordered_map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < known.size(); ++i) places.emplace(known[i].key, i);
  bool tells = false;
  for (const CpuRate& each : rates) {
    const auto place = places.find(each.key);
    if (place == places.end()) {
      if (known.size() == max_rates) continue;
      known.push_back(each);
      tells = true;
      continue;
    }
    double& before = known[place->second].seconds_per_flop;
    const double now = each.seconds_per_flop;
    tells = tells || std::max(now, before) > OpenPolicy::scatter * std::min(now, before);
    before = (before + now) / 2;
  }
  if (tells) report::replace_file(path_, text_of(command_, known));
}

}  // namespace blastoff::runtime
