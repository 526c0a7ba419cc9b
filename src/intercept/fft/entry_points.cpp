#include "intercept/fft/entry_points.h"

#include <array>

#include "fft/execution.h"

namespace blastoff::intercept {

using abi::IntegerWidth;
using abi::Style;

constinit const EntryPoint fft_entry_points[] = {
#define BLASTOFF_STYLE_c Style::cblas
#define BLASTOFF_STYLE_fortran Style::fortran
#define BLASTOFF_ENTRY(name, style, function, kind, precision, form, words) \
  {#name,                                                                   \
   "",                                                                      \
   "",                                                                      \
   {&fft_routines, static_cast<std::uint16_t>(fft::Routine::name)},         \
   {BLASTOFF_STYLE_##style, IntegerWidth::lp64},                            \
   false},
    BLASTOFF_FFT_ROUTINES(BLASTOFF_ENTRY)
#undef BLASTOFF_ENTRY
};

namespace {

constexpr Spelling spellings[] = {{"", "", Style::cblas, Decoration::ambiguous}};

constexpr std::uint16_t number_of(fft::Routine routine) {
  return static_cast<std::uint16_t>(routine);
}

/// Functions that FFTW (also if it is linked statically), MKL and libraries with the whole of their interfaces have.
/// The routines of the table take few arguments, most of them addresses, which tell nothing.
constexpr std::string_view needed_beside[] = {"fftw_mkapiplan",
                                              "fftwf_mkapiplan",
                                              "fftw_plan_guru64_dft",
                                              "fftwf_plan_guru64_dft",
                                              "DftiCreateDescriptor_d_1d",
                                              "DftiCreateDescriptor_d_md",
                                              "DftiCreateDescriptor_s_1d",
                                              "DftiCreateDescriptor_s_md",
                                              "mkl_get_version",
                                              "MKL_Get_Version",
                                              "nvpl_fft_get_version",
                                              "armplversion_"};

/// A program into which MKL was linked has this function only if it calls it.
std::string_view told_by(std::uint16_t routine) {
  return routine < number_of(fft::Routine::DftiCommitDescriptor) ? std::string_view() : "DftiGetValue";
}

constexpr const char* system_libraries[] = {"libfftw3.so.3", "libfftw3f.so.3"};

constinit std::array<std::atomic<std::uint64_t>, fft::routine_count> absent{};

std::uint16_t beside(const fft::RoutineRow& row, fft::Function function) {
  for (std::uint16_t other = 0; other < fft::routine_count; ++other) {
    const fft::RoutineRow& candidate = fft::routine_table[other];
    const bool same_library = candidate.style == row.style && candidate.precision == row.precision;
    if (candidate.function == function && same_library &&
        (function == fft::Function::destroy || candidate.kind == row.kind))
      return other;
  }
  return 0;
}

/// The companion of a planner is the function that executes its plans on other arrays. The companion of that function
/// is the one that destroys plans.
std::uint16_t companion(std::uint16_t routine) {
  const fft::RoutineRow& row = fft::routine_table[routine];
  switch (row.function) {
    case fft::Function::plan: return beside(row, fft::Function::execute_new);
    case fft::Function::execute_new: return beside(row, fft::Function::destroy);
    case fft::Function::execute:
    case fft::Function::commit:
    case fft::Function::compute_forward:
    case fft::Function::compute_backward:
    case fft::Function::destroy: break;
  }
  return routine;
}

/// DFTI's Fortran names with an underscore at the end, in the table's order, and how far before them the table has the
/// names without it. Libraries have both names for one function.
constexpr std::uint16_t first_with_underscore = number_of(fft::Routine::dfti_commit_descriptor_external_);
constexpr std::uint16_t underscored = first_with_underscore - number_of(fft::Routine::dfti_commit_descriptor_external);
static_assert(first_with_underscore + underscored == fft::routine_count);

std::uint16_t meaning(std::uint16_t routine) {
  return routine < first_with_underscore ? routine : static_cast<std::uint16_t>(routine - underscored);
}

}  // namespace

constinit const RoutineTable fft_routines = {
    .front_end = &fft::fftw,
    .names = fft_names,
    .spellings = spellings,
    .entry_points = fft_entry_points,
    .absent = absent,
    .meaning = &meaning,
    .needed_beside = needed_beside,
    .told_by = &told_by,
    .companion = &companion,
    .system_libraries = system_libraries,
    .hook = &fft_hook,
};

}  // namespace blastoff::intercept
