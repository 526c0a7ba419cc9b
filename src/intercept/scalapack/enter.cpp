#include "intercept/scalapack/enter.h"

#include "intercept/dispatch.h"
#include "scalapack/call.h"

namespace blastoff::intercept {
namespace {

struct WordsPassedOn {
  void* const* words;
  std::size_t count;

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const WordsPassedOn*>(self);
    scalapack::invoke(original, call.words, call.count);
  }
};

}  // namespace

void enter_scalapack(const EntryPoint& entry, const Original& original, scalapack::Routine routine, void* const* words,
                     const void* caller) {
  const WordsPassedOn passed_on{words, scalapack::row(routine).words};
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
  if (!original.intercepted) return raw(original.function);
  const scalapack::Call call(routine, words);
  const bool narrow = original.integers(lapack::row(scalapack::row(routine).local).scalar) == abi::IntegerWidth::lp64;
  // All processes know these conditions alike, before any of them waits for another.
  if (!narrow || call.order() < scalapack::min_order || call.asks_for_work_size()) return raw(original.function);
  dispatch_distributed(intercepted, call);
}

}  // namespace blastoff::intercept
