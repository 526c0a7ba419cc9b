// Results that stay on the device.
#pragma once

#include <memory>

#include "residency/mirror/coherence.h"
#include "residency/mirror/return_path.h"

namespace blastoff::residency::mirror {

/// When the operation has run, wait() brings home what results have on pages that cannot be given up, and the host's
/// other pages are given up. A result that cannot stay goes home whole. `traffic`: what went home, and what
/// stayed. All must outlive it; not to be waited for if the operation has failed.
std::unique_ptr<ReturnPath> staying_return(Coherence& coherence, PageAcquisition& acquisition,
                                           device::CallQueues& queues, Staging& staging, Traffic& traffic);

}  // namespace blastoff::residency::mirror
