#include "intercept/routine_table.h"

namespace blastoff::intercept {

const EntryPoint* sibling(const EntryPoint& entry, const Routine& routine) {
  if (routine.table == nullptr || entry.routine.table != routine.table) return nullptr;
  const std::span<const EntryPoint> all = routine.table->entry_points;
  const std::size_t index = static_cast<std::size_t>(&entry - all.data());
  if (index >= all.size()) return nullptr;
  const std::size_t spelling_count = routine.table->spellings.size();
  const std::size_t place = routine.number * spelling_count + index % spelling_count;
  return place < all.size() ? &all[place] : nullptr;
}

}  // namespace blastoff::intercept
