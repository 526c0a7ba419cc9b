#include "config/options.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/option_value.h"
#include "config/options.def"
#include "config/settings.h"
#include "device/kinds.h"

namespace blastoff::config {

namespace {

using namespace accepted;

constexpr Option table[] = {
#define BLASTOFF_ROW(field, name, environment, accepted, initial, audience, help) \
  Option{name, environment, accepted, initial, Audience::audience, Scope::library, help},
    BLASTOFF_LIBRARY_OPTIONS(BLASTOFF_ROW)
#undef BLASTOFF_ROW
#define BLASTOFF_ROW(name, environment, accepted, initial, scope, help) \
  Option{name, environment, accepted, initial, Audience::user, Scope::scope, help},
        BLASTOFF_LAUNCHER_OPTIONS(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};

const char* kind_name(Accepted::Kind kind) {
  switch (kind) {
    case Accepted::Kind::choice: return "choice";
    case Accepted::Kind::integer: return "integer";
    case Accepted::Kind::memory:
    case Accepted::Kind::memory_or_percent: return "memory";
    case Accepted::Kind::duration: return "duration";
    case Accepted::Kind::text: return "text";
  }
  return "";
}

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::library: return "library";
    case Scope::launcher: return "launcher";
    case Scope::environment: return "environment";
  }
  return "";
}

nlohmann::ordered_json to_json(const Option& option) {
  const Accepted& accepted = option.accepted;
  nlohmann::ordered_json json{{"name", option.name},
                              {"environment", option.environment},
                              {"kind", kind_name(accepted.kind)},
                              {"values", describe_accepted(accepted)},
                              {"default", option.initial},
                              {"help", option.help},
                              {"audience", option.audience == Audience::user ? "user" : "test"},
                              {"scope", scope_name(option.scope)}};
  if (accepted.kind == Accepted::Kind::choice) json["choices"] = split_choices(accepted.values);
  const bool numbered = accepted.kind == Accepted::Kind::choice && accepted.maximum > 0;
  if (accepted.kind == Accepted::Kind::integer || accepted.kind == Accepted::Kind::duration || numbered) {
    json["minimum"] = accepted.minimum;
    if (accepted.maximum != unlimited) json["maximum"] = accepted.maximum;
  }
  if (accepted.kind == Accepted::Kind::memory) json["percent"] = false;
  if (accepted.kind == Accepted::Kind::memory_or_percent) json["percent"] = true;
  if (is_path(option)) json["path"] = true;
  if (!accepted.bare_value.empty()) json["bare"] = accepted.bare_value;
  return json;
}

}  // namespace

bool is_path(const Option& option) {
  constexpr std::array<std::string_view, 4> paths{"report", "trace", "cuda-path", "model"};
  return std::ranges::find(paths, option.name) != paths.end();
}

std::span<const Option> options() {
  return table;
}

std::string options_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Option& option : options()) list.push_back(to_json(option));
  return list.dump(2);
}

}  // namespace blastoff::config
