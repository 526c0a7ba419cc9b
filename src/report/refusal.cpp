#include "report/record.h"

namespace blastoff::report {

const char* refusal_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::none: return "offloaded";
    case Refusal::below_min_size: return "average size below the threshold";
    case Refusal::too_shallow: return "too little work for each element of the result";
    case Refusal::not_reused: return "pays only on matrices that stay on the device, and these did not";
    case Refusal::trivial: return "nothing to compute (alpha or k is 0, or the result is empty)";
    case Refusal::invalid_arguments: return "invalid arguments";
    case Refusal::device_none: return "offloading is switched off (device none)";
    case Refusal::no_device: return "no usable device";
    case Refusal::device_lost: return "the device failed";
    case Refusal::out_of_memory: return "not enough device memory";
    case Refusal::unsupported: return "the device cannot do this operation";
    case Refusal::forked: return "child of a fork";
    case Refusal::exiting: return "the process was ending";
  }
  return "";
}

}  // namespace blastoff::report
