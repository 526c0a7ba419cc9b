#include "intercept/symbols/renamed_blas.h"

#include <algorithm>

namespace blastoff::intercept {
namespace {

/// With so many routines in both styles, an object is a library, not a program's wrapper.
constexpr std::size_t many = 6;

bool is_fortran(const Renaming& renaming, const BlasName& name) {
  return !name.capitals && name.prefix == renaming.prefix && name.suffix.starts_with('_') &&
         name.suffix.substr(1) == renaming.suffix;
}

/// Returns the builder's prefix of a name of the C interface; nullopt: the name is not of the C interface.
std::optional<std::string_view> prefix_of_c_name(const BlasName& name) {
  const std::string_view own = name.routine.table->c_prefix;
  if (name.capitals || own.empty() || !name.prefix.ends_with(own)) return std::nullopt;
  return name.prefix.substr(0, name.prefix.size() - own.size());
}

bool is_cblas(const Renaming& renaming, const BlasName& name) {
  return name.suffix == renaming.suffix && prefix_of_c_name(name) == renaming.prefix;
}

void add(std::vector<Renaming>& renamings, std::string_view prefix, std::string_view suffix) {
  const auto same = [&](const Renaming& known) { return known.prefix == prefix && known.suffix == suffix; };
  if (std::none_of(renamings.begin(), renamings.end(), same))
    renamings.push_back({std::string(prefix), std::string(suffix)});
}

bool has_both_styles(const Renaming& renaming, const std::vector<BlasName>& names) {
  std::size_t fortran_count = 0;
  std::size_t cblas_count = 0;
  for (const BlasName& name : names) {
    fortran_count += is_fortran(renaming, name) ? 1 : 0;
    cblas_count += is_cblas(renaming, name) ? 1 : 0;
  }
  return fortran_count >= many && cblas_count >= many;
}

}  // namespace

std::vector<Renaming> proven_renamings(const ObjectFile& object, const std::vector<BlasName>& names) {
  std::vector<Renaming> proven;
  for (const std::string_view own : {"openblas_get_config", "openblas_set_num_threads"})
    for (const std::string_view name : object.first_names_with(own)) {
      const std::size_t place = name.find(own);
      add(proven, name.substr(0, place), name.substr(place + own.size()));
    }
  std::vector<Renaming> possible;
  for (const BlasName& name : names)
    if (const auto prefix = prefix_of_c_name(name)) add(possible, *prefix, name.suffix);
  for (const Renaming& renaming : possible)
    if (has_both_styles(renaming, names)) add(proven, renaming.prefix, renaming.suffix);
  return proven;
}

std::optional<KnownSpelling> renamed_spelling(const std::vector<Renaming>& renamings, const BlasName& name) {
  for (const Renaming& renaming : renamings) {
    const bool wide = renaming.suffix.find("64") != std::string::npos;
    if (is_fortran(renaming, name)) return KnownSpelling{abi::Style::fortran, wide, false};
    if (is_cblas(renaming, name)) return KnownSpelling{abi::Style::cblas, wide, false};
  }
  return std::nullopt;
}

}  // namespace blastoff::intercept
