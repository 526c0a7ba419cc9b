#include "intercept/patch/obstacle.h"

namespace blastoff::intercept::patch {

const char* to_string(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::too_short: return "too short";
    case Obstacle::branch_back: return "branch back into the moved instructions";
    case Obstacle::jump_table: return "jump table";
    case Obstacle::unknown_instruction: return "unknown instruction";
    case Obstacle::out_of_reach: return "out of reach";
    case Obstacle::leaf: return "leaf function";
    case Obstacle::indirect: return "IFUNC resolver";
    case Obstacle::patched_already: return "patched already";
    case Obstacle::not_writable: return "text not writable";
    case Obstacle::no_memory: return "no memory near it";
    case Obstacle::in_use: return "in use by other threads";
  }
  return "unknown";
}

}  // namespace blastoff::intercept::patch
