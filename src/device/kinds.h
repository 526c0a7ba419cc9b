// The kinds of devices as values (kinds.def), also for modules that name devices and open none: nothing here allocates
// memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "device/kinds.def"

namespace blastoff::device {

struct Kind {
  std::string_view name;
  bool numbered;                  ///< "NAME:N", "NAME:LIST" and "NAME:all" are accepted
  const char* visible;            ///< environment variable that names the visible devices, "" if there is none
  std::size_t min_address_space;  ///< bytes of address space; with less, the device is not opened
  bool timed;                     ///< the device is there to save time
};

inline constexpr Kind kinds[] = {
#define BLASTOFF_KIND(name, numbered, variable, address_space, timed, help) \
  {#name, numbered, variable, std::size_t{address_space} << 30, timed},
    BLASTOFF_DEVICE_KINDS(BLASTOFF_KIND)
#undef BLASTOFF_KIND
};

inline constexpr const Kind& default_kind = kinds[0];

/// A setting in two parts: "NAME", "NAME:N", "NAME:LIST" or "NAME:all".
struct NamedKind {
  const Kind* kind;
  std::string_view number;  ///< what follows the colon; "" without one
};

/// nullopt if no kind has that name. Does not use substr(), which may throw: the allocator library has no exceptions.
constexpr std::optional<NamedKind> find_kind(std::string_view name) {
  const std::size_t colon = name.find(':');
  const bool numbered = colon != std::string_view::npos;
  std::string_view number = name;
  number.remove_prefix(numbered ? colon + 1 : name.size());
  if (numbered) name.remove_suffix(name.size() - colon);
  for (const Kind& kind : kinds)
    if (kind.name == name && (!numbered || kind.numbered)) return NamedKind{&kind, number};
  return std::nullopt;
}

}  // namespace blastoff::device
