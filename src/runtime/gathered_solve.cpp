#include "runtime/gathered_solve.h"

namespace blastoff::runtime {

constinit thread_local GatheredSolve* GatheredSolve::running_ = nullptr;

}  // namespace blastoff::runtime
