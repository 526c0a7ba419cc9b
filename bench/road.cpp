// How long each step of one offloaded call takes under first-use, and how long the bare operation takes on device
// memory of each kind and alignment; for triangular results also the ways to copy them back, and the cost of cutting
// them into panels. Between two calls the CPU does what the benchmark programs do: it reads the result and writes one
// element of A. Needs a GPU.
//
//   bench_road [DEVICE [SHAPE [MIB]]]
//
// DEVICE: cuda (default), cuda:N, simulated. SHAPE: only shapes whose name contains this text. MIB: size of the
// smallest panels under first-use, instead of the default.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "blas/front_end.h"
#include "blas/host_routine.h"
#include "device/open.h"
#include "device/queue_pool.h"
#include "device_program.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "residency/first_use_policy.h"
#include "tracking/page_tracker.h"

namespace {

using namespace blastoff;

struct NoHost final : blas::HostRoutine {
  bool can_compute(const blas::Call&) const override { return false; }
  void compute(const blas::Call&) const override {}
};

struct Shape {
  const char* name;
  blas::Routine routine;
  std::int64_t m, n, k;
  blas::Transpose transpose;
};

blas::Call make_call(const Shape& shape, std::vector<void*> addresses) {
  blas::Call call;
  call.routine = shape.routine;
  call.uplo = blas::Uplo::lower;
  call.transpose_a = shape.transpose;
  call.m = shape.m;
  call.n = shape.n;
  call.k = shape.k;
  call.alpha = 1;
  const std::int64_t lda = shape.transpose == blas::Transpose::none ? shape.m : shape.k;
  std::vector<std::int64_t> leading{lda, shape.k, shape.m};
  if (addresses.size() == 2) leading = {lda, shape.n};
  blas::shape_operands(call, addresses, leading);
  return call;
}

std::vector<std::size_t> operand_elements(const Shape& shape, bool two) {
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n),
             k = static_cast<std::size_t>(shape.k);
  if (two) return {n * k, n * n};
  return {m * k, k * n, m * n};
}

template <class Work>
double time_of(device::Queue& queue, Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < 22; ++i) {
    const double start = microseconds();
    work();
    need(queue.synchronize());
    if (i >= 2) times.push_back(microseconds() - start);
  }
  return median(times);
}

double time_bare(device::CallQueues& queues, const std::vector<operation::Operation>& calls) {
  const NoHost host;
  return time_of(*queues.compute, [&] {
    for (const operation::Operation& call : calls) need(queues.compute->execute(call, host));
  });
}

// Fills device memory from the host, so that the operation computes with ordinary numbers.
void fill(device::CallQueues& queues, device::Address address, const double* from, std::size_t elements) {
  need(queues.upload->copy_to_device(address, from, {elements * sizeof(double)}));
  need(queues.upload->synchronize());
}

void bare(device::Device& device, device::CallQueues& queues, const Shape& shape, const std::vector<double*>& host,
          const std::vector<std::size_t>& elements) {
  for (const bool reserved : {false, true}) {
    for (const std::size_t offset : {0, 16}) {
      std::vector<void*> addresses;
      std::vector<std::function<void()>> undo;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t granule = std::max<std::size_t>(device.properties().backing_granularity, 1);
        const std::size_t bytes = (elements[i] * sizeof(double) + 4096 + granule - 1) / granule * granule;
        device::Address base = 0;
        if (reserved) {
          base = need(device.reserve(bytes));
          need(device.back(device::MemoryClient::mirrors, base, bytes));
          undo.emplace_back([&device, base, bytes] {
            device.unback(base, bytes);
            device.release(base, bytes);
          });
        } else {
          base = need(device.allocate(device::MemoryClient::copies, bytes));
          undo.emplace_back([&device, base] { device.free(base); });
        }
        fill(queues, base + offset, host[i], elements[i]);
        addresses.push_back(reinterpret_cast<void*>(base + offset));
      }
      std::printf("%-22s bare, %s memory, offset %2zu: %9.1f us\n", shape.name, reserved ? "mapped" : "plain ", offset,
                  time_bare(queues, {make_call(shape, addresses)}));
      for (const auto& release : undo) release();
    }
  }
}

struct Setup {
  device::Device& device;
  device::CallQueues& queues;
  residency::Policy& policy;
};

// Times the operation alone, cut into panels as under first-use, and its first panel, for which copying back must wait.
void panels(const Setup& setup, const Shape& shape, const double* a, const std::vector<std::size_t>& elements) {
  const std::size_t bytes_of_a = elements[0] * sizeof(double);
  const device::Address base =
      need(setup.device.allocate(device::MemoryClient::copies, bytes_of_a + elements[1] * sizeof(double)));
  fill(setup.queues, base, a, elements[0]);
  const blas::Call call = make_call(shape, {reinterpret_cast<void*>(base), reinterpret_cast<void*>(base + bytes_of_a)});
  for (const std::size_t mebibytes : {1024, 16, 8, 4}) {
    const auto parts = operation::pieces(call, mebibytes << 20);
    std::printf("%-22s bare, panels of %4zu MiB: %zu operations, %.1f us, the first %.1f us\n", shape.name, mebibytes,
                parts.size(), time_bare(setup.queues, parts), time_bare(setup.queues, {parts.front()}));
  }
  setup.device.free(base);
}

// Times each way to copy a triangle back: the triangle kernel on the whole triangle and on diagonal blocks, and the
// copy engine.
void ways_home(const Setup& setup, const Shape& shape, double* host, std::size_t elements) {
  const auto n = static_cast<std::size_t>(shape.n);
  const std::size_t bytes = elements * sizeof(double), pitch = n * sizeof(double), page = 4096;
  char* pages = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(host) / page * page);
  if (!setup.device.pin(pages, (bytes / page + 2) * page)) return;
  const device::Address base = need(setup.device.allocate(device::MemoryClient::copies, bytes));
  device::Queue& queue = *setup.queues.download;
  const auto show = [&](const char* way, std::size_t order, double moved, double time) {
    std::printf("%-22s home, %s %4zu: %7.1f us, %4.1f GB/s\n", shape.name, way, order, time, moved / time / 1e3);
  };
  for (const std::size_t order : {n, n / 4, n / 8, n / 16, std::size_t{128}}) {
    const device::Triangle triangle{
        shape.n, static_cast<std::int64_t>(order), sizeof(double), operation::Part::lower, pitch, pitch};
    const double moved = static_cast<double>(n * (order + 1) / 2 * sizeof(double));
    show("triangle kernel, blocks of", order, moved,
         time_of(queue, [&] { need(queue.copy_triangle_to_host(host, base, triangle)); }));
  }
  for (const std::size_t rows : {n, n - n / 8, n / 2, n / 8}) {
    const device::Block block{rows * sizeof(double), n / 8, pitch, pitch};
    show("copy engine, n / 8 columns of", rows, static_cast<double>(block.column_bytes * block.columns),
         time_of(queue, [&] { need(queue.copy_to_host(host, base, block)); }));
  }
  setup.device.free(base);
  setup.device.unpin(pages, (bytes / page + 2) * page);
}

void read_result(const double* result, std::size_t elements) {
  double sum = 0;
  for (std::size_t i = 0; i < elements; ++i) sum += result[i];
  volatile double sink = sum;
  (void)sink;
}

void road(const Setup& setup, const Shape& shape, const std::vector<double*>& host,
          const std::vector<std::size_t>& elements) {
  device::CallQueues& queues = setup.queues;
  const blas::Call call = make_call(shape, {host.begin(), host.end()});
  const NoHost none;
  std::vector<double> begin, execute, release, computed, finish, total;
  std::size_t panels = 0;
  for (std::size_t i = 0; i < 45; ++i) {
    read_result(host.back(), elements.back());
    host[0][i * 524287 % elements[0]] += 0.125;
    const double start = microseconds();
    auto lease = need(setup.policy.begin(call, queues));
    const double begun = microseconds();
    double executing = 0, releasing = 0;
    panels = lease->panels().size();
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const double a = microseconds();
      const operation::Operation on_device = need(lease->acquire(panel));
      need(queues.compute->execute(on_device, none));
      const double b = microseconds();
      need(lease->release(panel));
      executing += b - a;
      releasing += microseconds() - b;
    }
    const double sent = microseconds();
    need(queues.compute->synchronize());
    const double done = microseconds();
    need(lease->finish());
    const double end = microseconds();
    lease.reset();
    if (i < 5) continue;
    begin.push_back(begun - start);
    execute.push_back(executing);
    release.push_back(releasing);
    computed.push_back(done - sent);
    finish.push_back(end - done);
    total.push_back(microseconds() - start);
  }
  std::printf(
      "%-22s first-use, %zu panels: begin %.1f, queue operations %.1f, release %.1f, rest of arithmetic %.1f, way home "
      "%.1f, all %.1f us (quickest %.1f)\n",
      shape.name, panels, median(begin), median(execute), median(release), median(computed), median(finish),
      median(total), *std::min_element(total.begin(), total.end()));
}

void measure(const Setup& setup, const Shape& shape) {
  const bool triangular = shape.routine == blas::Routine::dsyrk;
  const auto elements = operand_elements(shape, triangular);
  std::vector<double*> host;
  for (const std::size_t count : elements) host.push_back(host_matrix(count));
  bare(setup.device, setup.queues, shape, host, elements);
  if (triangular) {
    panels(setup, shape, host[0], elements);
    ways_home(setup, shape, host.back(), elements.back());
  }
  road(setup, shape, host, elements);
}

}  // namespace

int main(int argc, char** argv) {
  platform::remember_cpu_set();
  device::Choice choice;
  if (argc > 1) choice.name = argv[1];
  auto device = need(device::open(choice));
  auto pool = platform::create_worker_pool(platform::cpu_count() - 1);
  auto staging = need(residency::create_staging(*device, *pool, std::size_t{4} << 20, 32));
  auto tracker = tracking::open_page_tracker();
  if (!tracker) fail(tracker.error());
  device->accountant().limit(device::MemoryClient::mirrors, need(device->memory_info()).free / 2);
  residency::FirstUseSettings settings;
  settings.pins = residency::create_pins(std::size_t{8} << 30);
  if (argc > 3) {
    const std::size_t bytes = std::strtoul(argv[3], nullptr, 10) << 20;
    settings.panels = {bytes, bytes, bytes};
  }
  ledger::Ledger ledger(std::move(*tracker));
  auto policy = residency::create_first_use_policy(*device, *staging, ledger, settings);
  device::QueuePool queue_pool(*device, 1);
  auto queues = need(queue_pool.acquire());

  using blas::Routine;
  using blas::Transpose;
  const Shape shapes[] = {
      {"dgemm T 32 2400 93536", Routine::dgemm, 32, 2400, 93536, Transpose::transpose},
      {"dgemm 1000", Routine::dgemm, 1000, 1000, 1000, Transpose::none},
      {"dgemm 2000", Routine::dgemm, 2000, 2000, 2000, Transpose::none},
      {"dgemm 4000", Routine::dgemm, 4000, 4000, 4000, Transpose::none},
      {"dgemm 1000 1000 2000", Routine::dgemm, 1000, 1000, 2000, Transpose::none},
      {"dsyrk 1000 2000", Routine::dsyrk, 1000, 1000, 2000, Transpose::none},
      {"dsyrk 2000", Routine::dsyrk, 2000, 2000, 2000, Transpose::none},
      {"dsyrk 4000", Routine::dsyrk, 4000, 4000, 4000, Transpose::none},
  };
  const std::string wanted = argc > 2 ? argv[2] : "";
  const Setup setup{*device, *queues, *policy};
  for (const Shape& shape : shapes)
    if (std::string(shape.name).find(wanted) != std::string::npos) measure(setup, shape);
  std::fflush(stdout);
  std::_Exit(0);  // matrices are still tracked
}
