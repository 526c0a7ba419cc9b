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
  if (rank < 0 || rank > static_cast<int>(Dimensions::max_count)) return false;
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
  // FFTW marks pointers to arrays in bits that are zero in the address of a real number.
  constexpr std::uintptr_t marks = 3;
  const auto unmarked = [](const void* array) { return reinterpret_cast<std::uintptr_t>(array) & ~marks; };
  const auto names = [&](const void* array) {
    return std::ranges::any_of(problem_.arrays, [&](const void* each) { return unmarked(each) == unmarked(array); });
  };
  return names(call.in) && names(call.out) && dims_.points() == product(call.transform.dims) &&
         batches_.points() == product(call.transform.batches);
}

std::optional<Inscription> Inscription::of_fftw(const void* handle, const PlannerCall& call) {
  const auto* const plan = static_cast<const Plan*>(handle);
  if (!platform::is_readable(plan, sizeof *plan) || !is_legible(plan)) return std::nullopt;
  Inscription result;
  result.real_ = call.transform.request.kind != Kind::c2c;
  result.copy(*plan);
  if (!result.fits(call)) return std::nullopt;
  return result;
}

std::optional<Inscription> Inscription::of_mkl(const void* handle, const PlannerCall& call, DftiGetValue* ask) {
  const auto* const plan = static_cast<const MklPlan*>(handle);
  if (!platform::is_readable(plan, sizeof *plan)) return std::nullopt;
  const void* const out = call.transform.request.in_place ? nullptr : call.out;
  const std::array<const void*, 4> arrays{call.in, out, nullptr, nullptr};
  const bool has_parameters = std::ranges::any_of(plan->parameters, [](const void* each) { return each != nullptr; });
  if (plan->arrays != arrays || has_parameters || !platform::is_readable(plan->descriptor, sizeof(void*)))
    return std::nullopt;
  Inscription result;
  result.mkl_plan_ = *plan;
  result.mkl_ = DftiDescription::read(ask, plan->descriptor, call.transform);
  if (!result.mkl_) return std::nullopt;
  return result;
}

// Follows a pointer of the plan only if it is the same as before: what a live plan points to can be read.
bool Inscription::is_on(const Plan& plan) const {
  if (plan.problem != plan_.problem || plan.sign != plan_.sign || plan.steps != plan_.steps) return false;
  const Problem& problem = *plan.problem;
  return problem.functions == problem_.functions && problem.dims == problem_.dims &&
         problem.batches == problem_.batches && problem.arrays == problem_.arrays &&
         (!real_ || problem.real_kind == problem_.real_kind) && *problem.dims == dims_ && *problem.batches == batches_;
}

bool Inscription::is_on(const void* handle) const {
  if (!mkl_) return is_on(*static_cast<const Plan*>(handle));
  return *static_cast<const MklPlan*>(handle) == mkl_plan_ && mkl_->is_of(mkl_plan_.descriptor);
}

}  // namespace blastoff::fft
