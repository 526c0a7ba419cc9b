// Calls every level-3 routine that a BLAS library has, with every combination of options, and checks the results
// against the definition. Usage: every_routine handle|default LIBRARY PREFIX SUFFIX fortran|cblas [ORDER]. ORDER is the
// approximate order of the matrices (default 13). handle: functions come from dlsym() on the library's handle. default:
// the library is loaded globally, and functions are looked up in the whole process. Prints a line for each routine: its
// symbol and the number of calls, "absent", or what was wrong.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/original_routine.h"
#include "blas/routine.h"
#include "reference_blas.h"
#include "test_call.h"

namespace {

using namespace blastoff;

/// Makes the calls and returns their number. Exits at the first wrong result.
int check(blas::Routine routine, const abi::OriginalRoutine& function, const char* symbol, std::int64_t order) {
  int calls = 0;
  for (const test::Options& options : test::all_options(routine)) {
    const test::TestCall tested(routine, options, order, order, order * 2 / 5, {0.75, -0.5}, {-0.5, 0.25});
    std::vector<std::byte> expected = tested.result();
    std::vector<std::byte> actual = tested.result();
    reference::compute(tested.with_result(expected));
    function.compute(tested.with_result(actual));
    ++calls;
    if (tested.difference(expected, actual) <= test::rounding) continue;
    std::printf("%s WRONG: %s\n", symbol, test::describe(tested.call()).c_str());
    std::exit(1);
  }
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  const std::int64_t order = argc == 7 ? std::atoll(argv[6]) : 13;
  const bool by_handle = std::strcmp(argv[1], "handle") == 0;
  const auto style = std::strcmp(argv[5], "cblas") == 0 ? abi::Style::cblas : abi::Style::fortran;
  void* const library = dlopen(argv[2], RTLD_NOW | (by_handle ? RTLD_LOCAL : RTLD_GLOBAL));
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  for (const blas::RoutineRow& row : blas::routines()) {
    if (blas::is_batch(row.kind)) continue;  // an extension
    const auto routine = static_cast<blas::Routine>(&row - blas::routines().data());
    const std::string symbol = std::string(argv[3]) + row.name + argv[4];
    // Asks the library's own handle whether it has the routine, since other libraries may define the name too.
    void* address = dlsym(library, symbol.c_str());
    if (address != nullptr && !by_handle) address = dlsym(RTLD_DEFAULT, symbol.c_str());
    const abi::OriginalRoutine function(routine, {address, style}, {});
    if (address == nullptr)
      std::printf("%s absent\n", symbol.c_str());
    else
      std::printf("%s %d\n", symbol.c_str(), check(routine, function, symbol.c_str(), order));
  }
  return 0;
}
