#include "runtime/routine_choice.h"

#include <utility>
#include <vector>

#include "operation/front_end.h"
#include "platform/log.h"

namespace blastoff::runtime {

tl::expected<config::RoutineChoice, std::string> read_routines(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < operation::routine_count(); ++i)
    names.emplace_back(operation::routine_name(static_cast<operation::RoutineId>(i)));
  return config::RoutineChoice::read(list, names);
}

config::RoutineChoice chosen_routines(const std::string& list) {
  auto choice = read_routines(list);
  if (choice) return std::move(*choice);
  platform::log_line("invalid value BLASTOFF_ROUTINES=%.200s: %s; using all routines", list.c_str(),
                     choice.error().c_str());
  return {};
}

}  // namespace blastoff::runtime
