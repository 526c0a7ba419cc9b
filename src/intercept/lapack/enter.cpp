#include "intercept/lapack/enter.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "abi/reentry.h"
#include "blas/front_end.h"
#include "intercept/blas/enter.h"
#include "intercept/blas/entry_points.h"
#include "intercept/dispatch.h"
#include "lapack/call.h"
#include "lapack/host_routine.h"
#include "lapack/sized_work.h"

namespace blastoff::intercept {
namespace {

/// The original that runs on this thread, and its arguments. In some libraries, one function only calls another with
/// the same arguments: scipy_dpotrf_ calls dpotrf_. The original may have been left by longjmp, so the mark has to be
/// checked.
struct RunningOriginal {
  const void* mark = nullptr;
  lapack::Routine routine{};
  std::size_t fingerprint = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local RunningOriginal running_original;

/// A hash of the arguments' addresses, not of their values.
std::size_t fingerprint(std::span<void* const> arguments) {
  std::size_t sum = 0;
  for (void* const argument : arguments) sum = sum * 31 + reinterpret_cast<std::uintptr_t>(argument);
  return sum;
}

/// Calls the original with the program's own words, and keeps what it returned.
struct WordsPassedOn {
  lapack::Routine routine;
  void* const* words;
  const lapack::ArgumentList& arguments;
  mutable long returned = 0;

  bool by_running_original() const {
    const RunningOriginal& running = running_original;
    return running.mark != nullptr && running.routine == routine &&
           running.fingerprint == fingerprint({words, arguments.size()}) && abi::is_called_below(running.mark);
  }

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const WordsPassedOn*>(self);
    abi::run_marked([&](const void* mark) {
      const RunningOriginal outer = running_original;
      running_original = {mark, call.routine, fingerprint({call.words, call.arguments.size()})};
      call.pass(original);
      running_original = outer;
    });
  }

  void pass(void* original) const {
    constexpr std::size_t few = 10;  // of most solvers, whose calls are the shortest
    if (arguments.words() <= few)
      pass(original, std::make_index_sequence<few>());
    else
      pass(original, std::make_index_sequence<lapack::max_words>());
  }

  /// Passes so many words, of which the routine may take fewer. A callee reads only its own words, and the caller
  /// clears the stack, so more words do no harm. Words past the end of `words` are not read.
  template <std::size_t... positions>
  void pass(void* original, std::index_sequence<positions...>) const {
    const auto call = [&]<class Returned>(Returned*) {
      using Function = Returned(decltype((void)positions, static_cast<void*>(nullptr))...);
      return std::bit_cast<long>(
          reinterpret_cast<Function*>(original)((positions < arguments.words() ? words[positions] : nullptr)...));
    };
    const bool is_function = lapack::row(lapack::row(routine).kind).returns_value;
    returned = is_function ? call(static_cast<double*>(nullptr)) : call(static_cast<long*>(nullptr));
  }
};

/// The largest element of a matrix of one element, 1, as the function returns it.
long norm_of_one(lapack::Routine routine, void* function) {
  const lapack::ArgumentList& arguments = lapack::argument_list(routine);
  std::array<float, 2> matrix{1, 0}, work{};
  std::int64_t one = 1;
  char largest = 'M', triangle = 'U';
  std::array<void*, lapack::max_words> words{};
  std::size_t count = 0;
  for (const lapack::Argument argument : arguments) switch (argument) {
      case lapack::Argument::job: words[count++] = &largest; break;
      case lapack::Argument::uplo: words[count++] = &triangle; break;
      case lapack::Argument::a: words[count++] = matrix.data(); break;
      case lapack::Argument::work: words[count++] = work.data(); break;
      default: words[count++] = &one; break;
    }
  for (; count < arguments.words(); ++count) words[count] = reinterpret_cast<void*>(1);
  const WordsPassedOn asked{routine, words.data(), arguments};
  abi::run_as_original([&] { asked.pass(function); });
  return asked.returned;
}

/// Whether a function in single precision returns a double. f2c translates the REAL functions of Fortran so, as does
/// gfortran -ff2c. Nothing but an answer shows it. What returns floats is not asked again.
bool returns_doubles(lapack::Routine routine, void* function) {
  static constinit std::array<std::atomic<void*>, lapack::routine_count> returns_floats{};
  const lapack::RoutineRow& row = lapack::row(routine);
  const bool single = row.scalar == blas::Scalar::s || row.scalar == blas::Scalar::c;
  if (!lapack::row(row.kind).returns_value || !single || function == nullptr) return false;
  std::atomic<void*>& known = returns_floats[static_cast<std::size_t>(routine)];
  if (known.load(std::memory_order_relaxed) == function) return false;
  if (norm_of_one(routine, function) == std::bit_cast<long>(1.0)) return true;
  known.store(function, std::memory_order_relaxed);
  return false;
}

/// The original, and for the blocks of a factorization the BLAS of its caller, under names of the same spelling.
class LapackHost final : public operation::Host {
 public:
  explicit LapackHost(const InterceptedCall& intercepted)
      : intercepted_(intercepted), own_(lapack_routine(intercepted.entry.routine), intercepted.original.function) {}

  bool can_compute(const operation::Operation& operation) const override {
    if (!blas::is_blas(operation)) return own_.can_compute(operation);
    const blas::Call call = blas::call_of(operation);
    return of_blas(call).can_compute(call);
  }

  bool compute(const operation::Operation& operation) const override {
    if (!blas::is_blas(operation)) return own_.compute(operation);
    const blas::Call call = blas::call_of(operation);
    of_blas(call).compute(call);
    return true;
  }

 private:
  abi::OriginalRoutine of_blas(const blas::Call& call) const {
    for (const EntryPoint& entry : entry_points_of(call.routine)) {
      if (entry.convention.style != abi::Style::fortran ||
          std::string_view(entry.prefix) != intercepted_.entry.prefix ||
          std::string_view(entry.suffix) != intercepted_.entry.suffix)
        continue;
      const Original original = original_for(entry, intercepted_.caller);
      if (original.function != nullptr && original.intercepted) return original_routine(entry, original);
    }
    return {call.routine, {}, {}};
  }

  static std::span<const EntryPoint> entry_points_of(blas::Routine routine) {
    const std::size_t count = blas_routines.spellings.size();
    return std::span(blas_entry_points).subspan(static_cast<std::size_t>(routine) * count, count);
  }

  const InterceptedCall& intercepted_;
  const lapack::HostRoutine own_;
};

std::unique_ptr<operation::Host> host_of(const InterceptedCall& intercepted) {
  return std::make_unique<LapackHost>(intercepted);
}

operation::Operation operation_of(const void* call) {
  return static_cast<const lapack::Call*>(call)->operation();
}

}  // namespace

long enter_lapack(const EntryPoint& entry, const Original& original, lapack::Routine routine, void* const* words,
                  const void* caller) {
  const WordsPassedOn passed_on{routine, words, lapack::argument_list(routine)};
  const RawArguments raw{&WordsPassedOn::invoke, &passed_on};
  if (original.function != nullptr &&
      (abi::inside_original() || !original.intercepted || passed_on.by_running_original())) {
    passed_on.pass(original.function);
    return passed_on.returned;
  }
  const std::optional<abi::IntegerWidth> integers = original.integers(lapack::row(routine).scalar);
  if (!integers || returns_doubles(routine, original.function)) {
    passed_on.pass(original.function);
    return passed_on.returned;
  }
  const std::uint8_t integer_bytes = *integers == abi::IntegerWidth::ilp64 ? 8 : 4;
  // As for BLAS, only the sizes of the smallest calls are looked at.
  const operation::Work work = lapack::sized_work(routine, words, integer_bytes);
  const auto id = static_cast<operation::RoutineId>(lapack::lapack().first_routine() + entry.routine.number);
  if (original.function != nullptr && counted_as_small(id, work.volume, work.flops)) {
    raw(original.function);
    return passed_on.returned;
  }
  const InterceptedCall intercepted{.entry = entry,
                                    .original = original,
                                    .raw = raw,
                                    .front_end = lapack::lapack(),
                                    .routine = entry.routine.number,
                                    .host = &host_of,
                                    .caller = caller,
                                    .composed = true};
  if (dispatch_if_small(intercepted, work.volume, work.flops)) return passed_on.returned;
  const lapack::Call call(routine, {words, passed_on.arguments.size()}, integer_bytes, &passed_on.returned);
  if (original.function != nullptr && call.asks_for_work_size()) {
    passed_on.pass(original.function);
    return passed_on.returned;
  }
  Parsed parsed{.valid = call.valid(), .call = &call, .operation = &operation_of};
  if (parsed.valid) {
    parsed.trivial = call.trivial();
    parsed.supported = parsed.trivial || call.supported();
    if (!parsed.trivial) {
      parsed.volume = lapack::volume(call.problem());
      parsed.flops = lapack::flops(call.problem());
    }
  }
  dispatch(intercepted, &parsed);
  return passed_on.returned;
}

}  // namespace blastoff::intercept
