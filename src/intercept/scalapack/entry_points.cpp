#include "intercept/scalapack/entry_points.h"

namespace blastoff::intercept {

constinit const EntryPoint scalapack_entry_points[] = {
#define BLASTOFF_ENTRY(name, kind, scalar, library, local, words)               \
  {#name "_",                                                                   \
   "",                                                                          \
   "_",                                                                         \
   {&scalapack_routines, static_cast<std::uint16_t>(scalapack::Routine::name)}, \
   {abi::Style::fortran, abi::IntegerWidth::lp64},                              \
   false},
    BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_ENTRY)
#undef BLASTOFF_ENTRY
};

namespace {

constexpr Spelling spellings[] = {{"", "_", abi::Style::fortran, Decoration::ambiguous}};

constexpr std::string_view needed_beside[] = {"numroc_"};

constinit std::array<std::atomic<std::uint64_t>, scalapack::routine_count> absent{};

}  // namespace

// A system has several ScaLAPACKs, one for each MPI library. So none is loaded for a program that was linked without
// one.
constinit const RoutineTable scalapack_routines = {
    .front_end = &scalapack::scalapack,
    .names = scalapack_names,
    .spellings = spellings,
    .entry_points = scalapack_entry_points,
    .absent = absent,
    .needed_beside = needed_beside,
    .hook = &scalapack_hook,
};

}  // namespace blastoff::intercept
