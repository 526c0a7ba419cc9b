// See patch/argument_use.h.
#pragma once

#include "intercept/patch/argument_use.h"

namespace blastoff::intercept::patch::x86_64 {

ArgumentUses argument_use(const CodeRange& code, const CodeRange& function,
                          const std::function<bool(const ArgumentUse&)>& enough);

}  // namespace blastoff::intercept::patch::x86_64
