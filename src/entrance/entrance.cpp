#include "entrance/entrance.h"

namespace {

using namespace blastoff::entrance;

using Constructor = void (*)(int count, char** arguments, char** environment);
using Destructor = void (*)();

}  // namespace

// The constructors and destructors of the library, which the dynamic linker does not see (cmake/entrance.ld).
#pragma GCC visibility push(hidden)
extern "C" {
extern const Constructor blastoff_constructors_begin[], blastoff_constructors_end[];
extern const Destructor blastoff_destructors_begin[], blastoff_destructors_end[];
constinit std::atomic<State> blastoff_state{State::undecided};
void blastoff_open();
}
#pragma GCC visibility pop

namespace {

[[gnu::constructor]] void enter(int count, char** arguments, char** environment) {
  // A constructor that ran before this one may have opened the gates by a call.
  State undecided = State::undecided;
  if (!blastoff_state.compare_exchange_strong(undecided, State::opening)) return;
  if (!fill_slots()) {
    blastoff_state.store(State::closed);
    return;
  }
  blastoff_state.store(State::open);
  for (const Constructor* each = blastoff_constructors_begin; each != blastoff_constructors_end; ++each)
    (*each)(count, arguments, environment);
}

[[gnu::destructor]] void leave() {
  if (blastoff_state.load() != State::open) return;
  for (const Destructor* each = blastoff_destructors_end; each != blastoff_destructors_begin;) (*--each)();
}

}  // namespace

void blastoff_open() {
  enter(0, nullptr, nullptr);
}
