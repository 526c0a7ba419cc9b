#include "decide/model_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace blastoff::decide {
namespace {

using Json = nlohmann::json;

/// The version of the schema that this file reads.
constexpr int version = 1;

/// Numbers outside these limits are mistakes.
constexpr double min_rate = 1e5;
constexpr double greatest_rate = 1e18;
constexpr double greatest_seconds = 60;
constexpr std::size_t max_points = 64;

/// Reads the parts of one text, and remembers the first mistake. The empty values for absent parts are never destroyed:
/// a thread may still read them when the process ends.
class Reader {
 public:
  const std::string& mistake() const { return mistake_; }

  static const Json& part(const Json& of, const char* key) {
    static const Json& none = *new Json();
    const auto found = of.is_object() ? of.find(key) : of.end();
    return of.is_object() && found != of.end() ? *found : none;
  }

  /// Leaves `value` as it is if the file has no such key.
  void rate(const Json& of, const char* key, double& value) { number(of, key, min_rate, greatest_rate, value); }
  void seconds(const Json& of, const char* key, double& value) { number(of, key, 0, greatest_seconds, value); }
  void text(const Json& of, const char* key, std::string& value) {
    const Json& found = part(of, key);
    if (found.is_null()) return;
    if (!found.is_string()) return fail(key);
    value = found.get_ref<const std::string&>();
  }
  void count(const Json& of, const char* key, int& value) {
    double number_of = value;
    number(of, key, 1, 1e6, number_of);
    value = static_cast<int>(number_of);
  }
  void texts(const Json& of, const char* key, std::vector<std::string>& values) {
    for (const Json& each : list(of, key)) {
      if (!each.is_string()) return fail(key);
      values.push_back(each.get_ref<const std::string&>());
    }
  }
  /// Returns a list; an empty one if the file has none.
  const Json& list(const Json& of, const char* key) {
    static const Json& none = *new Json(Json::array());
    const Json& found = part(of, key);
    if (!found.is_null() && !found.is_array()) fail(key);
    return found.is_array() ? found : none;
  }
  /// Reads one row of rates: family, precision, points. Ignores a family that is not known here.
  void row(const Json& of, RateTable& table) {
    std::string family_name;
    std::string precision_name;
    text(of, "family", family_name);
    text(of, "precision", precision_name);
    const auto family = family_named(family_name);
    const auto precision = precision_named(precision_name);
    if (!precision) return fail("precision");
    const auto points = read_points(of);
    if (!points) return fail("points");
    if (family) table.set({*family, *precision}, *points);
  }

 private:
  void fail(const char* key) {
    if (mistake_.empty()) mistake_ = std::string("the value of ") + key + " is wrong";
  }
  void number(const Json& of, const char* key, double least, double greatest, double& value) {
    const Json& found = part(of, key);
    if (found.is_null()) return;
    const double read = found.is_number() ? found.get<double>() : std::nan("");
    if (!(read >= least && read <= greatest)) return fail(key);
    value = read;
  }
  static bool is_point(const Json& point) {
    return point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number() &&
           point[0].get<double>() >= 1 && point[0].get<double>() <= greatest_rate &&
           point[1].get<double>() >= min_rate && point[1].get<double>() <= greatest_rate;
  }
  std::optional<std::vector<RatePoint>> read_points(const Json& of) {
    std::vector<RatePoint> points;
    for (const Json& point : list(of, "points")) {
      if (!is_point(point)) return std::nullopt;
      points.push_back({point[0].get<double>(), point[1].get<double>()});
    }
    const auto rising = [](const RatePoint& a, const RatePoint& b) { return a.flops >= b.flops; };
    const bool falls = std::ranges::adjacent_find(points, rising) != points.end();
    if (points.empty() || points.size() > max_points || falls) return std::nullopt;
    return points;
  }

  std::string mistake_;
};

void read_device(Reader& reader, const Json& gpu, ModelFile& file) {
  MachineModel& model = file.model;
  reader.texts(gpu, "names", file.gpus);
  reader.rate(gpu, "memory_rate", model.device_memory_rate);
  reader.seconds(gpu, "open_seconds", model.open_seconds);
  reader.seconds(gpu, "close_seconds", model.close_seconds);
  reader.seconds(gpu, "call_seconds", model.device_seconds);
  for (const Json& row : reader.list(gpu, "rates")) reader.row(row, model.device_rates);
}

void read_host(Reader& reader, const Json& host, ModelFile& file) {
  reader.text(host, "name", file.host);
  reader.text(host, "cpu", file.cpu);
  reader.count(host, "cores", file.cores);
  reader.rate(host, "memory_rate", file.cpu_memory_rate);
  reader.rate(host, "device_memory_rate", file.model.cpu_device_memory_rate);
  reader.text(Reader::part(host, "blas"), "file", file.blas);
  for (const Json& row : reader.list(host, "rates")) {
    int threads = 1;
    reader.count(row, "threads", threads);
    const auto place = std::ranges::lower_bound(file.cpu_rates, threads, {}, &std::pair<int, RateTable>::first);
    const bool there = place != file.cpu_rates.end() && place->first == threads;
    reader.row(row, (there ? place : file.cpu_rates.emplace(place, threads, RateTable()))->second);
  }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= text.size(); ++i)
    if (matches(rest, text.substr(i))) return true;
  return false;
}

bool ModelFile::describes(std::string_view gpu) const {
  return std::ranges::any_of(gpus, [&](const std::string& pattern) { return matches(pattern, gpu); });
}

const RateTable* ModelFile::cpu_rates_on(int threads) const {
  const RateTable* result = cpu_rates.empty() ? nullptr : &cpu_rates.front().second;
  for (const auto& [measured, table] : cpu_rates)
    if (measured <= threads) result = &table;
  return result;
}

tl::expected<ModelFile, std::string> parse_model(std::string_view json) {
  const Json text = Json::parse(json, nullptr, false);
  if (!text.is_object()) return tl::unexpected(std::string("it is not JSON"));
  const Json& found = Reader::part(text, "blastoff_machine");
  if (!found.is_number_integer()) return tl::unexpected(std::string("it is no machine model"));
  if (found.get<int>() != version) return tl::unexpected(std::string("it is of another version of Blastoff"));
  ModelFile file;
  Reader reader;
  reader.text(text, "name", file.model.name);
  const Json& link = Reader::part(text, "link");
  reader.rate(link, "to_device", file.model.to_device);
  file.model.direct_to_device = file.model.to_device;
  reader.rate(link, "staged_to_device", file.model.to_device);  // matrices are copied through page-locked buffers
  reader.rate(link, "from_device", file.model.from_device);
  reader.rate(link, "staged_from_device", file.model.from_device);
  reader.seconds(Reader::part(text, "tracking"), "page_seconds", file.model.page_seconds);
  read_device(reader, Reader::part(text, "gpu"), file);
  read_host(reader, Reader::part(text, "host"), file);
  if (!reader.mistake().empty()) return tl::unexpected(reader.mistake());
  return file;
}

}  // namespace blastoff::decide
