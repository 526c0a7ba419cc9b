#include "calibration/host_library.h"

#include <dlfcn.h>

#include "abi/original_routine.h"
#include "lapack/host_routine.h"
#include "platform/fork_guard.h"

namespace blastoff::calibration {
namespace {

abi::OriginalRoutine blas_routine(blas::Routine routine, void* function, void* companion) {
  return {routine, {function, abi::Style::fortran}, {companion, abi::Style::fortran}};
}

}  // namespace

HostLibrary::HostLibrary(const std::string& path) {
  const platform::ForkGuard guard;
  if (!path.empty()) handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* HostLibrary::find(const std::string& routine) const {
  const platform::ForkGuard guard;
  return handle_ == nullptr ? nullptr : dlsym(handle_, (routine + "_").c_str());
}

bool HostLibrary::can_compute(const operation::Operation& operation) const {
  if (!blas::is_blas(operation) && !lapack::is_lapack(operation)) return false;
  return find(operation.name()) != nullptr;
}

bool HostLibrary::compute(const operation::Operation& operation) const {
  if (lapack::is_lapack(operation)) {
    const auto routine = operation.payload<lapack::Problem>().routine;
    return lapack::HostRoutine(routine, find(operation.name())).compute(operation);
  }
  const blas::Routine routine = blas::call_of(operation).routine;
  const blas::Routine companion = abi::companion_of(routine);
  const operation::Host& host = blas_routine(routine, find(row(routine).name), find(row(companion).name));
  return host.compute(operation);
}

}  // namespace blastoff::calibration
