#include "intercept/fft/enter.h"

#include <atomic>
#include <cstdint>
#include <string_view>

#include "abi/reentry.h"
#include "fft/execution.h"
#include "fft/host_transform.h"
#include "fft/inscription.h"
#include "fft/plan_table.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/patched_function.h"
#include "intercept/symbols/object_file.h"
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

InterceptedCall call_of_plan(const FftCall& call, std::size_t routine) {
  return {.entry = call.entry,
          .original = call.original,
          .raw = call.raw,
          .front_end = fft::fftw(),
          .routine = routine,
          .host = &host_of,
          .caller = call.caller};
}

/// Passes the call on to the original and returns true if there is no original, if the original is not intercepted, or
/// if FFTW itself makes the call: plan_dft_3d makes its plan by plan_dft.
bool pass_on(const FftCall& call) {
  if (call.original.function == nullptr) {
    dispatch(call_of_plan(call, 0), nullptr);  // reports that there is no FFTW
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

/// cuFFTW computes on the GPU by itself, even on arrays that the CPU cannot read.
bool is_cufftw(const Original& original) {
  const char* const path = path_of(original.function);
  return path != nullptr && std::string_view(path).find("libcufftw") != std::string_view::npos;
}

/// Returns the address of a function of the main program, exported or not; 0: the program has none of that name.
std::uintptr_t in_main_program(std::string_view name, std::uintptr_t bias) {
  const auto file = ObjectFile::open("/proc/self/exe");
  const std::uint64_t address = file ? file->addresses_of({&name, 1}).front() : 0;
  return address == 0 ? 0 : bias + address;
}

/// Returns MKL's function that describes its plans; nullptr: the planner is not MKL's.
fft::DftiGetValue* dfti_beside(const void* planner) {
  constexpr const char* name = "DftiGetValue";
  const auto object = object_of(planner);
  if (!object) return nullptr;
  const void* found = ObjectHandle(object->path.c_str()).find(name);
  if (object->path.empty() && found == nullptr) {
    static const std::uintptr_t own = in_main_program(name, object->bias);
    found = reinterpret_cast<const void*>(own);
  }
  return object->contains(found) ? reinterpret_cast<fft::DftiGetValue*>(const_cast<void*>(found)) : nullptr;
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
  const auto patched = find_trampoline(original.function);
  const void* const planner = patched ? patched->address : original.function;
  fft::DftiGetValue* const ask = dfti_beside(planner);
  auto of_mkl = ask == nullptr ? std::nullopt : fft::Inscription::of_mkl(handle, asked, ask);
  if (!of_mkl) say_that_plans_are_not_known(planner);
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
  const InterceptedCall intercepted = call_of_plan(call, fft::front_end_routine(plan->transform.request));
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
