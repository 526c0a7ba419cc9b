#include "intercept/fft/enter.h"

#include <atomic>
#include <string_view>

#include "abi/reentry.h"
#include "fft/execution.h"
#include "fft/host_transform.h"
#include "fft/inscription.h"
#include "fft/plan_table.h"
#include "intercept/fft/dfti_beside.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/patched_function.h"
#include "platform/errno_guard.h"
#include "platform/log.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

std::unique_ptr<operation::Host> host_of(const InterceptedCall&) {
  return std::make_unique<fft::HostTransform>();
}

operation::Operation operation_of(const void* execution) {
  return static_cast<const fft::Execution*>(execution)->operation();
}

/// cuFFTW computes on the GPU by itself, even on arrays that the CPU cannot read.
bool is_cufftw(const Original& original) {
  const char* const path = path_of(original.function);
  return path != nullptr && std::string_view(path).find("libcufftw") != std::string_view::npos;
}

void say_that_plans_are_not_known(const void* planner) {
  static constinit std::atomic<bool> said{false};
  const char* const path = path_of(planner);
  if (path != nullptr && !said.exchange(true))
    platform::log_line("plans of %s do not tell what they compute; such transforms stay on the CPU", path);
}

std::optional<fft::Inscription> inscription_of(const void* handle, const fft::PlannerCall& asked,
                                               const Original& original) {
  if (auto of_fftw = fft::Inscription::of_fftw(handle, asked)) return of_fftw;
  fft::DftiGetValue* const ask = dfti_beside(original.function);
  auto of_mkl = ask == nullptr ? std::nullopt : fft::Inscription::of_mkl(handle, asked, ask);
  if (!of_mkl) {
    const auto patched = find_trampoline(original.function);
    say_that_plans_are_not_known(patched ? patched->address : original.function);
  }
  return of_mkl;
}

std::optional<fft::Plan> plan_of(const FftCall& call, void* handle) {
  if (call.original.companion == nullptr || is_cufftw(call.original)) return std::nullopt;
  const bool wide = call.original.convention.integers == abi::IntegerWidth::ilp64;
  const auto asked = fft::parse(call.row, call.words, wide ? 8 : 4);
  if (!asked) return std::nullopt;
  const auto inscription = inscription_of(handle, *asked, call.original);
  if (!inscription) return std::nullopt;
  auto plan = fft::make_plan(handle, *asked, {call.original.companion, call.row.style});
  if (plan) plan->inscription = inscription;
  return plan;
}

// remember() and forget() have stack frames of their own, so that no frame above an original needs cleaning up.
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

/// Returns the plan at the handle, if it is still the plan that was remembered.
const fft::Plan* known_plan(const FftCall& call) {
  const fft::Plan* const plan = fft::find_plan(handle_of(call));
  if (plan == nullptr || (plan->inscription && plan->inscription->is_on(plan->handle))) return plan;
  forget(call);
  return nullptr;
}

}  // namespace

InterceptedCall call_of_plan(const FftCall& call, const operation::FrontEnd& front_end, std::size_t routine) {
  return {.entry = call.entry,
          .original = call.original,
          .raw = call.raw,
          .front_end = front_end,
          .routine = routine,
          .host = &host_of,
          .caller = call.caller};
}

bool pass_on(const FftCall& call) {
  if (call.original.function == nullptr) {
    dispatch(call_of_plan(call, fft::fftw(), 0), nullptr);  // reports that there is no such library
    return true;
  }
  if (!abi::inside_original() && call.original.intercepted) return false;
  call.raw(call.original.function);
  return true;
}

void* handle_of(const FftCall& call) {
  void* const word = call.words.front();
  return call.row.style == fft::Style::c || word == nullptr ? word : *static_cast<void**>(word);
}

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
  const InterceptedCall intercepted = call_of_plan(call, fft::fftw(), fft::front_end_routine(plan->transform.request));
  const Parsed parsed{.valid = true,
                      .volume = plan->work.volume,
                      .flops = plan->work.flops,
                      .call = &execution,
                      .operation = &operation_of,
                      .supported = execution.supported()};
  dispatch(intercepted, &parsed);
}

void enter_destruction(const FftCall& call) {
  if (pass_on(call)) return;
  forget(call);
  abi::run_as_original([&] { call.raw(call.original.function); });
}

}  // namespace blastoff::intercept
