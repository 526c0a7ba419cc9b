#include "intercept/fft/enter.h"

#include <string_view>

#include "abi/reentry.h"
#include "fft/execution.h"
#include "fft/host_transform.h"
#include "fft/inscription.h"
#include "fft/plan_table.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/patched_function.h"
#include "platform/errno_guard.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

std::unique_ptr<operation::Host> host_of(const Visit&) {
  return std::make_unique<fft::HostTransform>();
}

operation::Operation operation_of(const void* execution) {
  return static_cast<const fft::Execution*>(execution)->operation();
}

Visit visit_of(const FftCall& call, std::size_t routine) {
  return {.entry = call.entry,
          .original = call.original,
          .raw = call.raw,
          .front_end = fft::fftw(),
          .routine = routine,
          .host = &host_of,
          .caller = call.caller};
}

/// Whether the end of that planner's plans is noticed. A program that is bound to our names ends them by our names. One
/// that has reached a patched function, however it found it, may end them in the same way.
bool end_is_noticed(const Original& planner) {
  if (!find_trampoline(planner.function)) return true;
  const auto execute = find_patched(planner.companion);
  return execute && find_patched(execute->original.companion);
}

/// Whether the call goes on to the original as it came, and was passed on. Calls within FFTW are: plan_dft_3d makes its
/// plan by plan_dft.
bool pass_on(const FftCall& call) {
  if (call.original.function == nullptr) {
    dispatch(visit_of(call, 0), nullptr);  // which says that there is no FFTW
    return true;
  }
  if (!abi::inside_original() && call.original.intercepted) return false;
  call.raw(call.original.function);
  return true;
}

void* handle_of(const FftCall& call) {
  void* const word = call.words.front();
  return call.row.style == fft::Style::c ? word : *static_cast<void**>(word);
}

/// cuFFTW computes on the GPU by itself, also on arrays that the CPU cannot read.
bool is_cufftw(const Original& original) {
  const char* const path = path_of(original.function);
  return path != nullptr && std::string_view(path).find("libcufftw") != std::string_view::npos;
}

std::optional<fft::Plan> plan_of(const FftCall& call, void* handle) {
  if (call.original.companion == nullptr || is_cufftw(call.original)) return std::nullopt;
  const bool wide = call.original.convention.integers == abi::IntegerWidth::ilp64;
  const auto asked = fft::parse(call.row, call.words, wide ? 8 : 4);
  if (!asked) return std::nullopt;
  const auto inscription = fft::Inscription::read(handle, *asked);
  if (!inscription || !(inscription->understood() || end_is_noticed(call.original))) return std::nullopt;
  auto plan = fft::make_plan(handle, *asked, {call.original.companion, call.row.style});
  if (plan) plan->inscription = inscription;
  return plan;
}

// In frames of their own: nothing is to be cleaned up in one above an original.
[[gnu::noinline]] void remember(const FftCall& call, void* handle) {
  const platform::ErrnoGuard errno_stays;
  std::optional<fft::Plan> plan;
  platform::undisturbed([&] { plan = plan_of(call, handle); });
  if (plan)
    fft::remember_plan(*plan);
  else
    fft::forget_plan(handle);
}

[[gnu::noinline]] void forget(const FftCall& call) {
  const platform::ErrnoGuard errno_stays;
  fft::forget_plan(handle_of(call));
}

/// The plan that lies there, if it is the one that was remembered.
const fft::Plan* known_plan(const FftCall& call) {
  const fft::Plan* const plan = fft::find_plan(handle_of(call));
  if (plan == nullptr || plan->inscription->is_on(plan->handle)) return plan;
  forget(call);
  return nullptr;
}

}  // namespace

bool called_from_within(const Original& planner, const void* caller) {
  if (planner.function == nullptr) return false;
  const auto patched = find_trampoline(planner.function);
  bool within = false;
  platform::undisturbed([&] { within = same_object(patched ? patched->address : planner.function, caller); });
  return within;
}

void enter_planner(const FftCall& call, const long& returned) {
  if (pass_on(call)) return;
  abi::run_as_original([&] { call.raw(call.original.function); });
  void* const handle = call.row.style == fft::Style::c ? reinterpret_cast<void*>(returned) : handle_of(call);
  if (handle != nullptr) remember(call, handle);
}

void enter_execution(const FftCall& call) {
  if (pass_on(call)) return;
  const fft::Plan* const plan = known_plan(call);
  const bool new_arrays = call.row.function == fft::Function::execute_new;
  if (plan == nullptr || (new_arrays && plan->transform.request.kind != call.row.kind))
    return call.raw(call.original.function);
  const fft::Execution execution{plan, new_arrays ? call.words[1] : plan->in, new_arrays ? call.words[2] : plan->out};
  const Visit visit = visit_of(call, fft::front_end_routine(plan->transform.request));
  const Parsed parsed{.valid = true,
                      .volume = plan->work.volume,
                      .flops = plan->work.flops,
                      .call = &execution,
                      .operation = &operation_of,
                      .supported = execution.supported()};
  dispatch(visit, &parsed);
}

void enter_destruction(const FftCall& call) {
  if (pass_on(call)) return;
  forget(call);
  abi::run_as_original([&] { call.raw(call.original.function); });
}

}  // namespace blastoff::intercept
