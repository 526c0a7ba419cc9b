// The cost under first-use of finding operands that are already on the device: one operand repeatedly, parts of one
// matrix, and tiles of it side by side. Nothing is computed; the result is one column. Runs on any device.
//
//   bench_reuse [DEVICE]    DEVICE: simulated (default), cuda, cuda:N
#include <cstdio>
#include <string>
#include <vector>

#include "blas/front_end.h"
#include "device/open.h"
#include "device/queue_pool.h"
#include "device_program.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "residency/first_use_policy.h"
#include "tracking/page_tracker.h"

namespace {

using namespace blastoff;

struct Matrix {
  double* first;
  std::int64_t rows, columns, leading_dimension;

  Matrix part(std::int64_t row, std::int64_t column, std::int64_t some_rows, std::int64_t some_columns) const {
    return {first + row + column * leading_dimension, some_rows, some_columns, leading_dimension};
  }
};

class Bench {
 public:
  Bench(residency::Policy& policy, device::CallQueues& queues) : policy_(policy), queues_(queues) {}

  /// Uses the matrices in turn, many times.
  void measure(const char* name, const std::vector<Matrix>& matrices) {
    const Cost first = use_all(matrices);
    std::vector<double> times;
    Cost later;
    for (int round = 0; round < 30; ++round) {
      later = use_all(matrices);
      times.push_back(later.microseconds / static_cast<double>(matrices.size()));
    }
    std::printf("%-52s first %7.1f MiB in %9.1f us; then %6.1f MiB, %7.2f us a call\n", name, first.mebibytes(),
                first.microseconds, later.mebibytes(), median(times));
  }

 private:
  struct Cost {
    double microseconds = 0;
    std::uint64_t bytes = 0;
    double mebibytes() const { return static_cast<double>(bytes) / (1 << 20); }
  };

  Cost use_all(const std::vector<Matrix>& matrices) {
    Cost cost;
    for (const Matrix& matrix : matrices) {
      blas::Call call;
      call.routine = blas::Routine::dgemm;
      call.m = matrix.rows;
      call.n = 1;
      call.k = matrix.columns;
      call.alpha = 1;
      const std::vector<void*> addresses{matrix.first, vector_, result_};
      const std::vector<std::int64_t> leading{matrix.leading_dimension, matrix.columns, matrix.rows};
      blas::shape_operands(call, addresses, leading);
      const double start = microseconds();
      auto lease = need(policy_.begin(call, queues_));
      (void)need(lease->acquire(0));
      need(lease->release(0));
      need(lease->finish());
      cost.bytes += lease->traffic().bytes_to_device;
      lease.reset();
      cost.microseconds += microseconds() - start;
    }
    return cost;
  }

  residency::Policy& policy_;
  device::CallQueues& queues_;
  double* vector_ = host_matrix(8192);
  double* result_ = host_matrix(8192);
};

std::vector<Matrix> trailing(const Matrix& matrix, std::int64_t step) {
  std::vector<Matrix> parts;
  for (std::int64_t at = 0; at < matrix.columns; at += step)
    parts.push_back(matrix.part(at, at, matrix.rows - at, matrix.columns - at));
  return parts;
}

std::vector<Matrix> tiles(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<Matrix> parts;
  for (std::int64_t j = 0; j < matrix.columns; j += columns)
    for (std::int64_t i = 0; i < matrix.rows; i += rows) parts.push_back(matrix.part(i, j, rows, columns));
  return parts;
}

Matrix matrix_of(std::int64_t rows, std::int64_t columns, std::int64_t leading_dimension) {
  return {host_matrix(static_cast<std::size_t>(columns * leading_dimension)), rows, columns, leading_dimension};
}

void measure_all(Bench& bench) {
  constexpr std::int64_t n = 4096;
  for (const std::int64_t leading : {n, n + 8}) {
    const std::string gaps = leading == n ? "" : ", 64 bytes between columns";
    const Matrix whole = matrix_of(n, n, leading);
    bench.measure(("one operand of order 4096" + gaps).c_str(), {whole});
    bench.measure(("its trailing parts, by 128" + gaps).c_str(), trailing(whole, 128));
    bench.measure(("tiles of 512, after the whole" + gaps).c_str(), tiles(whole, 512, 512));
    bench.measure(("tiles of 512 alone" + gaps).c_str(), tiles(matrix_of(n, n, leading), 512, 512));
    bench.measure(("upper and lower half alone" + gaps).c_str(), tiles(matrix_of(n, n, leading), n / 2, n));
  }
  const Matrix flat = matrix_of(300, 8192, 310);
  bench.measure("2 blocks of 150 of 310 rows, 8192 columns", tiles(flat, 150, 8192));
  bench.measure("6 blocks of 50 of 310 rows, 8192 columns", tiles(matrix_of(300, 8192, 310), 50, 8192));
}

}  // namespace

int main(int argc, char** argv) {
  platform::remember_cpu_set();
  device::Choice choice;
  choice.name = argc > 1 ? argv[1] : "simulated";
  choice.simulated_memory = std::size_t{3} << 30;
  auto device = need(device::open(choice));
  auto pool = platform::create_worker_pool(platform::cpu_count() - 1);
  auto staging = need(residency::create_staging(*device, *pool, std::size_t{4} << 20, 32));
  auto tracker = tracking::open_page_tracker();
  if (!tracker) fail(tracker.error());
  residency::FirstUseSettings settings;
  settings.pins = residency::create_pins(std::size_t{8} << 30);
  ledger::Ledger ledger(std::move(*tracker));
  auto policy = residency::create_first_use_policy(*device, *staging, ledger, settings);
  device::QueuePool queue_pool(*device, 1);
  auto queues = need(queue_pool.acquire());
  Bench bench(*policy, *queues);
  measure_all(bench);
  std::fflush(stdout);
  std::_Exit(0);  // matrices are still tracked
}
