#include "runtime/python_transforms.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "fft/execution.h"
#include "fft/plan.h"
#include "fft/reference_transform.h"
#include "intercept/blas/numpy_loops.h"
#include "intercept/dispatch.h"
#include "runtime/process.h"

namespace blastoff::runtime {

namespace {

/// The texts of python/blastoff/session/transforms.py and transform_engine.py. The library carries them, since the
/// program's interpreter may know nothing of the package `blastoff`.
constexpr const char* taking_text =
#include "transforms.inc"
    ;
constexpr const char* engine_text =
#include "transform_engine.inc"
    ;

/// Transforms of fewer elements are left alone unless every call is to go to the device: a call through our path costs
/// Python about 10 us, which is 1 to 3 % of the time of such a transform.
constexpr long floor_elements = 65536;

/// A transform as the Python code describes it: all numbers have 64 bits, and the loops follow, those of the transform
/// first.
struct Description {
  std::int64_t kind;       ///< fft::Kind
  std::int64_t precision;  ///< fft::Precision
  std::int64_t sign;
  std::int64_t computer;   ///< differs for calls that take different times on the CPU: the library, its threads
  std::int64_t supported;  ///< 0: the device would compute something else
  double factor;           ///< by which the results are multiplied
  std::int64_t dims;
  std::int64_t batches;

  const fft::Dimension* loops() const { return reinterpret_cast<const fft::Dimension*>(this + 1); }
};
static_assert(sizeof(Description) == 8 * 8 && sizeof(fft::Dimension) == 3 * 8);

/// Calls the program's own function, in Python.
using OnCpu = void (*)(void* call);
struct PythonCall {
  OnCpu on_cpu;
  void* call;
  mutable bool made = false;

  static void invoke(const void* self, void*) {
    const auto& python = *static_cast<const PythonCall*>(self);
    python.made = true;
    python.on_cpu(python.call);
  }
};

#define BLASTOFF_ENTRY(name) \
  { name, "", "", {}, {}, false }
constinit const intercept::EntryPoint entry_points[fft::front_end_routines] = {
    BLASTOFF_ENTRY("pocketfft_z2z"), BLASTOFF_ENTRY("pocketfft_d2z"), BLASTOFF_ENTRY("pocketfft_z2d"),
    BLASTOFF_ENTRY("pocketfft_c2c"), BLASTOFF_ENTRY("pocketfft_r2c"), BLASTOFF_ENTRY("pocketfft_c2r")};
#undef BLASTOFF_ENTRY

std::unique_ptr<operation::Host> host_of(const intercept::InterceptedCall&) {
  return std::make_unique<fft::ReferenceTransform>();
}

operation::Operation operation_of(const void* execution) {
  return static_cast<const fft::Execution*>(execution)->operation();
}

std::optional<fft::Transform> transform_of(const Description& description) {
  const fft::Request request{.kind = static_cast<fft::Kind>(description.kind),
                             .precision = static_cast<fft::Precision>(description.precision),
                             .sign = static_cast<int>(description.sign)};
  const auto dims = static_cast<std::size_t>(description.dims);
  const fft::Dimension* const loops = description.loops();
  auto transform = fft::guru(request, {loops, dims}, {loops + dims, static_cast<std::size_t>(description.batches)});
  if (transform) transform->factor = description.factor;
  return transform;
}

std::optional<fft::Plan> plan_of(const Description& description, const std::optional<fft::Transform>& transform,
                                 void* in, void* out) {
  if (description.supported == 0 || !transform) return std::nullopt;
  auto plan = fft::make_plan(nullptr, {*transform, in, out}, {});
  if (plan) plan->shape = (plan->shape ^ static_cast<std::uint64_t>(description.computer) * 0x9e3779b97f4a7c15U) | 1U;
  return plan;
}

/// The Python code calls this without the interpreter's lock. Returns 1 if the device has computed the transform into
/// `out`; 0 if on_cpu(call) has been called instead. `in` and `out` are disjoint.
int transform(const Description* description, void* in, void* out, OnCpu on_cpu, void* call) {
  const auto transform = transform_of(*description);
  const auto plan = plan_of(*description, transform, in, out);
  const operation::Work work = transform ? fft::work_of(*transform) : operation::Work{};
  const fft::Execution execution{plan ? &*plan : nullptr, in, out, &fft::pocketfft};
  const PythonCall python{on_cpu, call};
  const intercept::RawArguments raw{&PythonCall::invoke, &python};
  const intercept::Original original{.function = reinterpret_cast<void*>(on_cpu)};
  const std::size_t routine =
      fft::front_end_routine({.kind = static_cast<fft::Kind>(description->kind),
                              .precision = static_cast<fft::Precision>(description->precision)});
  const intercept::InterceptedCall intercepted{.entry = entry_points[routine],
                                               .original = original,
                                               .raw = raw,
                                               .front_end = fft::pocketfft(),
                                               .routine = routine,
                                               .host = &host_of,
                                               .caller = __builtin_return_address(0)};
  const intercept::Parsed parsed{.valid = true,
                                 .volume = work.volume,
                                 .flops = work.flops,
                                 .call = &execution,
                                 .operation = &operation_of,
                                 .supported = plan.has_value()};
  intercept::dispatch(intercepted, &parsed);
  return python.made ? 0 : 1;
}

/// The functions of Python's stable interface that are needed.
struct Python {
  void* (*this_thread)() = nullptr;
  int (*holds_lock)() = nullptr;
  void* (*builtins)() = nullptr;
  void* (*new_dictionary)() = nullptr;
  void* (*new_text)(const char* text) = nullptr;
  int (*set_item)(void* dictionary, const char* key, void* value) = nullptr;
  void* (*compile)(const char* text, const char* file, int start) = nullptr;
  void* (*evaluate)(void* code, void* globals, void* locals) = nullptr;
  void (*release)(void* object) = nullptr;
  void (*forget_error)() = nullptr;

  template <class Function>
  static bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
  }

  bool found() {
    return find(this_thread, "PyGILState_GetThisThreadState") && find(holds_lock, "PyGILState_Check") &&
           find(builtins, "PyEval_GetBuiltins") && find(new_dictionary, "PyDict_New") &&
           find(new_text, "PyUnicode_FromString") && find(set_item, "PyDict_SetItemString") &&
           find(compile, "Py_CompileString") && find(evaluate, "PyEval_EvalCode") && find(release, "Py_DecRef") &&
           find(forget_error, "PyErr_Clear");
  }

  /// Runs Python code in a namespace of its own, in which ENGINE is the engine's text. An error ends the code and
  /// nothing else.
  void run(const std::string& text) const {
    constexpr int file_input = 257;  // Py_file_input
    void* const globals = new_dictionary();
    void* const engine = new_text(engine_text);
    // "<frozen": a line of this file is never taken for the line of a call.
    void* const code = globals != nullptr && engine != nullptr && set_item(globals, "ENGINE", engine) == 0 &&
                               set_item(globals, "__builtins__", builtins()) == 0
                           ? compile(text.c_str(), "<frozen blastoff.session.transforms>", file_input)
                           : nullptr;
    void* const result = code != nullptr ? evaluate(code, globals, globals) : nullptr;
    if (result == nullptr) forget_error();
    for (void* const object : {result, code, engine, globals})
      if (object != nullptr) release(object);
  }
};

/// Reads only one variable if the settings have not been read yet: read_settings() speaks of wrong ones.
bool offloads_everything() {
  if (const Process* const process = Process::existing()) return process->settings().min_size == 0;
  const char* const min_size = secure_getenv("BLASTOFF_MIN_SIZE");
  return min_size != nullptr && std::string_view(min_size) == "0";
}

}  // namespace

void take_python_transforms() {
  Python python;
  if (!python.found() || python.this_thread() == nullptr || python.holds_lock() == 0) return;
  const bool everything = offloads_everything();
  python.run(taking_text + fmt::format("\nbegin({}, {}, ENGINE, {})\n", reinterpret_cast<std::uintptr_t>(&transform),
                                       everything ? 1 : floor_elements,
                                       reinterpret_cast<std::uintptr_t>(&intercept::take_matmul)));
}

void add_python_transforms() {
  operation::add_front_end(fft::pocketfft());
}

}  // namespace blastoff::runtime
