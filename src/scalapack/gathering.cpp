#include "scalapack/gathering.h"

#include "scalapack/transports.h"

namespace blastoff::scalapack {

Outcome gather(const Call& call, void* original, const Functions& functions, const Grid& grid, Root& root,
               const Willingness& own) {
  Meeting& meeting = meeting_of(functions, grid);
  Gathering gathering{call, functions, grid, root, Places(call)};
  if (!meeting.complete && !all_take_part(functions, grid, gathering.hoped(Transport::memory), own))
    return Outcome::distributed;
  if (!meeting.segment_tried) share_segment(functions, grid, meeting);
  if (meeting.segment) return gather_through_memory(gathering, meeting, original);
  return gather_by_messages(gathering, meeting, original);
}

}  // namespace blastoff::scalapack
