#include "fft/inscription.h"

#include <algorithm>
#include <span>

#include "platform/readable.h"

namespace blastoff::fft {
namespace {

double product(const Dimensions& dimensions) {
  double result = 1;
  for (const Dimension& dimension : dimensions.all()) result *= static_cast<double>(dimension.length);
  return result;
}

}  // namespace

double Inscription::Loops::points() const {
  double result = 1;
  for (int i = 0; i < rank; ++i) result *= static_cast<double>(loops[i].length);
  return result;
}

bool Inscription::Loops::operator==(const Loops& other) const {
  return rank == other.rank && std::equal(loops, loops + rank, other.loops);
}

bool Inscription::is_legible(const Loops* loops) {
  if (!platform::is_readable(loops, sizeof loops->rank)) return false;
  const int rank = loops->rank;
  if (rank < 0 || rank > static_cast<int>(Dimensions::most)) return false;
  return rank == 0 || platform::is_readable(loops->loops, static_cast<std::size_t>(rank) * sizeof(Loop));
}

bool Inscription::is_legible(const Plan* plan) {
  return platform::is_readable(plan->problem, sizeof *plan->problem) && is_legible(plan->problem->dims) &&
         is_legible(plan->problem->batches);
}

void Inscription::copy(const Plan& plan) {
  const auto copy_loops = [](Loops& to, const Loops& from) {
    to.rank = from.rank;
    std::copy_n(from.loops, from.rank, to.loops);
  };
  plan_ = plan;
  problem_.functions = plan.problem->functions;
  problem_.dims = plan.problem->dims;
  problem_.batches = plan.problem->batches;
  problem_.arrays = plan.problem->arrays;
  if (real_) problem_.real_kind = plan.problem->real_kind;
  copy_loops(dims_, *plan.problem->dims);
  copy_loops(batches_, *plan.problem->batches);
}

bool Inscription::fits(const PlannerCall& call) const {
  // FFTW marks pointers to arrays in bits that an address of real numbers leaves free.
  constexpr std::uintptr_t marks = 3;
  const auto unmarked = [](const void* array) { return reinterpret_cast<std::uintptr_t>(array) & ~marks; };
  const auto names = [&](const void* array) {
    return std::ranges::any_of(problem_.arrays, [&](const void* each) { return unmarked(each) == unmarked(array); });
  };
  return names(call.in) && names(call.out) && dims_.points() == product(call.transform.dims) &&
         batches_.points() == product(call.transform.batches);
}

std::optional<Inscription> Inscription::read(const void* handle, const PlannerCall& call) {
  if (!platform::is_readable(handle, sizeof(Words))) return std::nullopt;
  Inscription result;
  std::copy_n(static_cast<const std::uintptr_t*>(handle), result.words_.size(), result.words_.begin());
  result.real_ = call.transform.request.kind != Kind::c2c;
  const auto* const plan = static_cast<const Plan*>(handle);
  if (!is_legible(plan)) return result;
  result.copy(*plan);
  result.understood_ = result.fits(call);
  return result;
}

// What the plan refers to is read only if it refers to the same places: those of a live plan can be read.
bool Inscription::is_on(const Plan& plan) const {
  if (plan.problem != plan_.problem || plan.sign != plan_.sign || plan.steps != plan_.steps) return false;
  const Problem& problem = *plan.problem;
  return problem.functions == problem_.functions && problem.dims == problem_.dims &&
         problem.batches == problem_.batches && problem.arrays == problem_.arrays &&
         (!real_ || problem.real_kind == problem_.real_kind) && *problem.dims == dims_ && *problem.batches == batches_;
}

bool Inscription::is_on(const void* handle) const {
  if (understood_) return is_on(*static_cast<const Plan*>(handle));
  return std::equal(words_.begin(), words_.end(), static_cast<const std::uintptr_t*>(handle));
}

}  // namespace blastoff::fft
