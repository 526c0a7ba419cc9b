// The cost of a decision: nanoseconds of one decision by predicted times, for a call above the threshold, by the
// decision's result. The target is at most 200. (A call below the threshold only makes one comparison:
// bench/interception.py.)
//
//   bench_decide [MODEL]    MODEL: a file of share/machines
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "blas/front_end.h"
#include "blas/shape.h"
#include "decide/decider.h"
#include "decide/model_file.h"

namespace {

using namespace blastoff;

struct Residency final : operation::Estimator {
  std::optional<operation::Estimate> estimate(const operation::Operation&) override { return found; }
  operation::Estimate found;
};

operation::Operation product_of(std::int64_t m, std::int64_t n, std::int64_t k, char* memory) {
  blas::Call call;
  call.routine = blas::Routine::dgemm;
  call.m = m;
  call.n = n;
  call.k = k;
  void* addresses[3] = {memory, memory + 1, memory + 2};
  const std::int64_t leading_dimensions[3] = {m, k, m};
  blas::shape_operands(call, addresses, leading_dimensions);
  return call;
}

/// Nanoseconds of one call in the fastest of many batches.
template <class Work>
double nanoseconds_of(const Work& work) {
  constexpr int calls = 2000;
  double least = 1e9;
  for (int batch = 0; batch < 200; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) work();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count() / calls);
  }
  return least;
}

void measure(const char* what, const decide::MachineModel& model, const operation::Operation& call, double cpu,
             std::uint64_t missing) {
  const auto decider = decide::by_time(250, model);
  Residency residency;
  residency.found.missing = missing;
  if (cpu > 0) decider->observe(call, {.seconds = cpu});
  int on_device = 0;
  const double nanoseconds =
      nanoseconds_of([&] { on_device += decider->judge(call, residency) == decide::Refusal::none ? 1 : 0; });
  std::printf("%-34s %6.1f ns%s\n", what, nanoseconds, on_device > 0 ? "  device" : "");
}

}  // namespace

int main(int argc, char** argv) {
  operation::add_front_end(blas::front_end());
  decide::MachineModel assumed;
  decide::MachineModel model;
  if (argc > 1) {
    std::ifstream file(argv[1]);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto read = decide::parse_model(text);
    if (!read) {
      std::printf("%s: %s\n", argv[1], read.error().c_str());
      return 1;
    }
    model = read->model;
    if (const auto* rates = read->cpu_rates_on(16)) model.cpu_rates = *rates;
  }
  char memory[3];
  const auto narrow = product_of(4000, 40, 4000, memory);
  const auto square = product_of(4000, 4000, 4000, memory);
  measure("CPU's time unknown", assumed, narrow, 0, 128 << 20);
  measure("surely faster on the device", assumed, square, 0, 0);
  measure("matrix there", assumed, narrow, 0.004, 0);
  measure("matrix to be brought", assumed, narrow, 0.002, 128 << 20);
  measure("CPU faster", assumed, narrow, 1e-5, 128 << 20);
  if (argc > 1) measure("by the model alone", model, narrow, 0, 128 << 20);
}
