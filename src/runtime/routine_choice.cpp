#include "runtime/routine_choice.h"

#include <utility>
#include <vector>

#include "operation/front_end.h"
#include "platform/log.h"
#include "platform/process.h"

namespace blastoff::runtime {

namespace {

/// Eigenvectors and singular vectors are not unique: signs, and vectors of equal values, differ from library to
/// library. Ranks that compute them of the same matrix, each for itself, need the same ones, and no rank knows where
/// the others compute. So in a job these routines stay on the CPU, unless the list says which routines may run on the
/// device.
std::string of_this_process(const std::string& list) {
  constexpr const char* not_unique =
      "-?syev*,-?heev*,-?sygv*,-?hegv*,-?spev*,-?hpev*,-?spgv*,-?hpgv*,-?gesdd,-?gesvd,-?geev";
  if (platform::global_size() <= 1 || (!list.empty() && list.front() != '-')) return list;
  return list.empty() ? not_unique : std::string(not_unique) + "," + list;
}

}  // namespace

tl::expected<config::RoutineChoice, std::string> read_routines(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < operation::routine_count(); ++i)
    names.emplace_back(operation::routine_name(static_cast<operation::RoutineId>(i)));
  return config::RoutineChoice::read(list, names);
}

config::RoutineChoice chosen_routines(const std::string& list) {
  auto choice = read_routines(of_this_process(list));
  if (choice) return std::move(*choice);
  platform::log_line("invalid value BLASTOFF_ROUTINES=%.200s: %s; using all routines", list.c_str(),
                     choice.error().c_str());
  return {};
}

}  // namespace blastoff::runtime
