#include "device/gpu/loading_beside.h"

#include <dlfcn.h>

#include <utility>

#include "platform/fork_guard.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"

namespace blastoff::device::gpu {

LoadingBeside::LoadingBeside(std::shared_ptr<ExecutorLibraries> libraries) {
  platform::start_thread("blastoff-load", [state = state_, libraries = std::move(libraries)] {
    const platform::ForkGuard guard;
    // Takes the lock of the dynamic linker and gives it back. So a caller that holds the lock has passed wait() before
    // this thread begins.
    (void)dlsym(RTLD_DEFAULT, "dlopen");
    State expected = State::waiting;
    if (!state->compare_exchange_strong(expected, State::loading)) return;
    (void)libraries->require_any();
    platform::announce_end();
    state->store(State::over);
    state->notify_all();
  });
}

void LoadingBeside::wait() {
  State expected = State::waiting;
  if (!state_->compare_exchange_strong(expected, State::over)) state_->wait(State::loading);
}

}  // namespace blastoff::device::gpu
