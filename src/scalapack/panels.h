// Panels of the columns of a matrix that goes to the members of a team: redistribution (p?gemr2d) counts bytes in 32
// bits, and buffers what it sends and receives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scalapack/team.h"

namespace blastoff::scalapack {

struct Panel {
  std::int64_t begin = 0;
  std::int64_t columns = 0;
  std::int64_t block = 0;  ///< so many columns go to a member at a time
  int first_member = 0;    ///< that has the first of them
};

/// Calls visit(panel) for panels of at most `most_bytes`, but of one column at least. Each is some blocks, or a part of
/// one, so that it is dealt out as a matrix of its own.
template <class Visit>
void each_panel(const Team& team, std::int64_t columns, std::int64_t column_bytes, std::int64_t most_bytes,
                const Visit& visit) {
  const std::int64_t most = std::max<std::int64_t>(1, most_bytes / column_bytes);
  const std::int64_t width = most < team.block ? most : most / team.block * team.block;
  Panel panel;
  for (; panel.begin < columns; panel.begin += panel.columns) {
    panel.columns = std::min(width, columns - panel.begin);
    if (width < team.block) panel.columns = std::min(panel.columns, team.block - panel.begin % team.block);
    panel.block = std::min(team.block, panel.columns);
    panel.first_member = static_cast<int>(panel.begin / team.block % team.members);
    visit(panel);
  }
}

}  // namespace blastoff::scalapack
