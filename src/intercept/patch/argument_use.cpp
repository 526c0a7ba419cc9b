#include "intercept/patch/argument_use.h"

#include "intercept/patch/x86_64/argument_use.h"

namespace blastoff::intercept::patch {

std::optional<ArgumentUses> argument_use(Architecture architecture, const CodeRange& code, const CodeRange& function,
                                         const std::function<bool(const ArgumentUse&)>& enough) {
  if (architecture != Architecture::x86_64) return std::nullopt;
  return x86_64::argument_use(code, function, enough);
}

}  // namespace blastoff::intercept::patch
