// The routines of level 1. Their names are not exported, so only patched functions are intercepted: programs make tens
// of millions of such calls, nearly all of which must cost nothing.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

extern const RoutineTable vector_routines;

}  // namespace blastoff::intercept
