// DFTI, MKL's own interface, whose plans are called descriptors.
//
// What a descriptor computes is asked of MKL at each call that is not small: the program may have changed it unnoticed.
// What it computed when it was committed is remembered, since to ask takes longer than a small transform. If that has
// changed unnoticed, a call may count as small that is not; then MKL makes it.

#include <optional>

#include "abi/reentry.h"
#include "fft/dfti_transform.h"
#include "fft/execution.h"
#include "fft/plan_table.h"
#include "intercept/fft/dfti_beside.h"
#include "intercept/fft/enter.h"
#include "platform/errno_guard.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

constexpr int forward = -1;

int sign_of(const FftCall& call) {
  return call.row.function == fft::Function::compute_forward ? forward : 1;
}

struct Arrays {
  void* in;
  void* out;
};

/// The arrays of a call; nothing if it has others than the descriptor asks for. DFTI's functions of C have no fixed
/// number of arguments.
std::optional<Arrays> arrays_of(const FftCall& call, const fft::Request& request) {
  const std::size_t wanted = request.in_place ? 1 : 2;
  if (call.row.style == fft::Style::fortran && call.words.size() != wanted + 1) return std::nullopt;
  return Arrays{call.words[1], call.words[wanted]};
}

std::optional<fft::Plan> plan_of(const fft::DftiTransform& described, const FftCall& call, void* descriptor) {
  const auto arrays = described.whole ? arrays_of(call, described.sizes.request) : std::nullopt;
  if (!arrays) return std::nullopt;
  return fft::make_plan(descriptor, {*described.whole, arrays->in, arrays->out},
                        {call.original.function, call.row.style});
}

// remember() has a stack frame of its own, so that no frame above an original needs cleaning up.
[[gnu::noinline]] void remember(const FftCall& call, void* descriptor) {
  const platform::ErrnoGuard errno_stays;
  fft::forget_plan(descriptor);
  fft::DftiGetValue* const ask = dfti_beside(call.original.function);
  const auto described = ask == nullptr ? std::nullopt : fft::transform_of_descriptor(ask, descriptor, forward);
  if (!described) return;
  fft::Plan sizes;
  sizes.handle = descriptor;
  sizes.transform = described->sizes;
  sizes.work = fft::work_of(described->sizes);
  fft::remember_plan(sizes);
}

/// Whether a small transform has been made. `intercepted` gets the number of its routine.
bool made_as_small(InterceptedCall& intercepted, const FftCall& call, void* descriptor) {
  const fft::Plan* const known = fft::find_plan(descriptor);
  if (known == nullptr || known->inscription) return false;
  fft::Request request = known->transform.request;
  if (request.kind != fft::Kind::c2c) request.kind = sign_of(call) == forward ? fft::Kind::r2c : fft::Kind::c2r;
  intercepted.routine = fft::front_end_routine(request);
  return dispatch_if_small(intercepted, known->work.volume, known->work.flops);
}

operation::Operation operation_of(const void* execution) {
  return static_cast<const fft::Execution*>(execution)->operation();
}

[[gnu::noinline]] void make_described(InterceptedCall& intercepted, const FftCall& call, void* descriptor,
                                      const std::optional<fft::DftiTransform>& described) {
  // MKL says what is wrong with a descriptor that it does not describe.
  if (!described) return dispatch(intercepted, nullptr);
  const auto plan = plan_of(*described, call, descriptor);
  const operation::Work work = fft::work_of(described->sizes);
  const fft::Execution execution{plan ? &*plan : nullptr, plan ? plan->in : nullptr, plan ? plan->out : nullptr,
                                 &fft::dfti};
  intercepted.routine = fft::front_end_routine(described->sizes.request);
  const Parsed parsed{.valid = true,
                      .volume = work.volume,
                      .flops = work.flops,
                      .call = &execution,
                      .operation = &operation_of,
                      .supported = plan && execution.supported()};
  dispatch(intercepted, &parsed);
}

}  // namespace

void enter_commitment(const FftCall& call, const long& returned) {
  if (pass_on(call)) return;
  abi::run_as_original([&] { call.raw(call.original.function); });
  void* const descriptor = handle_of(call);
  if (returned == 0 && descriptor != nullptr) remember(call, descriptor);
}

void enter_transform(const FftCall& call) {
  if (pass_on(call)) return;
  void* const descriptor = handle_of(call);
  fft::DftiGetValue* const ask = descriptor == nullptr ? nullptr : dfti_beside(call.original.function);
  if (ask == nullptr) return call.raw(call.original.function);
  InterceptedCall intercepted = call_of_plan(call, fft::dfti(), 0);
  if (made_as_small(intercepted, call, descriptor)) return;
  make_described(intercepted, call, descriptor, fft::transform_of_descriptor(ask, descriptor, sign_of(call)));
}

}  // namespace blastoff::intercept
