// Which routines may run on the device (--routines), by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace blastoff::config {

class RoutineChoice {
 public:
  /// All routines.
  RoutineChoice() = default;

  /// Reads names separated by commas, among which `names` are known: "dgemm,zgemm" or "-dgemm". * stands for any
  /// letters; capitals count as small letters. A minus leaves routines out. If the first name has one, all others are
  /// chosen, else only those that are named. Later names change what earlier ones said. Returns an error, in words, if
  /// a name is that of no routine. "" chooses all.
  static tl::expected<RoutineChoice, std::string> read(std::string_view list, std::span<const std::string> names);

  /// `routine`: the place of its name among the known ones. Names that became known later are chosen.
  bool contains(std::size_t routine) const { return routine >= chosen_.size() || chosen_[routine]; }
  /// Whether the list names this routine as one that may run there. "-dgemm" names none, and "*" all.
  bool names(std::size_t routine) const { return routine < named_.size() && named_[routine]; }

 private:
  std::vector<bool> chosen_;  // empty: all
  std::vector<bool> named_;   // empty: none
};

}  // namespace blastoff::config
