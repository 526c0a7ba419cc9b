#include "intercept/scalapack/enter.h"

#include "abi/reentry.h"
#include "intercept/dispatch.h"
#include "scalapack/call.h"

namespace blastoff::intercept {
namespace {

/// The distributed call that this thread makes. ScaLAPACK's routines call others of the table. All processes make
/// these calls alike, and the whole has been judged already. The call may be left by longjmp, so the mark has to be
/// checked.
[[gnu::tls_model("initial-exec")]] constinit thread_local const void* running_call = nullptr;

bool inside_distributed_call() {
  return running_call != nullptr && abi::is_called_below(running_call);
}

struct WordsPassedOn {
  void* const* words;
  std::size_t count;

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const WordsPassedOn*>(self);
    abi::run_marked([&](const void* mark) {
      running_call = mark;
      scalapack::invoke(original, call.words, call.count);
      running_call = nullptr;
    });
  }
};

}  // namespace

void enter_scalapack(const EntryPoint& entry, const Original& original, scalapack::Routine routine, void* const* words,
                     const void* caller) {
  const std::size_t count = scalapack::row(routine).words;
  if (original.function != nullptr && (!original.intercepted || inside_distributed_call()))
    return scalapack::invoke(original.function, words, count);
  const WordsPassedOn passed_on{words, count};
  const RawArguments raw{&WordsPassedOn::invoke, &passed_on};
  const InterceptedCall intercepted{.entry = entry,
                                    .original = original,
                                    .raw = raw,
                                    .front_end = scalapack::scalapack(),
                                    .routine = entry.routine.number,
                                    .host = nullptr,
                                    .caller = caller,
                                    .composed = true};
  if (original.function == nullptr) return dispatch(intercepted, nullptr);  // reports that there is none
  const scalapack::Call call(routine, words);
  const bool narrow = original.integers(call.scalar()) == abi::IntegerWidth::lp64;
  if (!narrow || call.asks_for_work_size()) return raw(original.function);
  dispatch_distributed(intercepted, call);
}

}  // namespace blastoff::intercept
