// The instances of enter() and parse() for CBLAS.
#include "intercept/blas/enter_definition.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_INSTANCES(name, kind, scalar) BLASTOFF_INSTANTIATE(cblas, name, kind, scalar)
BLASTOFF_ROUTINES(BLASTOFF_INSTANCES)

}  // namespace
}  // namespace blastoff::intercept
