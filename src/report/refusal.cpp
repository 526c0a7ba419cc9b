#include "report/refusal.h"

namespace blastoff::report {

const char* refusal_text(Refusal refusal) {
  static constexpr const char* texts[] = {
#define BLASTOFF_TEXT(name, text) text,
      BLASTOFF_REFUSALS(BLASTOFF_TEXT)
#undef BLASTOFF_TEXT
  };
  return texts[static_cast<std::size_t>(refusal)];
}

}  // namespace blastoff::report
