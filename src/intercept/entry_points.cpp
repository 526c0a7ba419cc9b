#include "intercept/entry_points.h"

#include "intercept/original.h"

namespace blastoff::intercept {

using abi::IntegerWidth;
using abi::Style;

constinit const abi::EntryPoint entry_point_table[entry_point_count] = {
#define BLASTOFF_NAME_TEXT(name) #name
#define BLASTOFF_IS_UNDECORATED_ambiguous false
#define BLASTOFF_IS_UNDECORATED_suffixed false
#define BLASTOFF_IS_UNDECORATED_undecorated true
#define BLASTOFF_ENTRY(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  {BLASTOFF_NAME_TEXT(prefix##name##suffix),                                            \
   #prefix,                                                                             \
   #suffix,                                                                             \
   blas::Routine::name,                                                                 \
   {Style::style, IntegerWidth::integers},                                              \
   BLASTOFF_IS_UNDECORATED_##decoration},
#define BLASTOFF_ENTRIES(name, kind, scalar) BLASTOFF_SPELLINGS(BLASTOFF_ENTRY, name, kind, scalar)
    BLASTOFF_ROUTINES(BLASTOFF_ENTRIES)
#undef BLASTOFF_ENTRIES
#undef BLASTOFF_ENTRY
};

const abi::EntryPoint* sibling(const abi::EntryPoint& entry, blas::Routine routine) {
  const auto index = static_cast<int>(&entry - entry_point_table);
  if (index < 0 || index >= entry_point_count) return nullptr;
  return &entry_point_table[static_cast<int>(routine) * spelling_count + index % spelling_count];
}

}  // namespace blastoff::intercept
