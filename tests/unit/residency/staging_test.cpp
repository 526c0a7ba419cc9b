#include "residency/staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "delayed_device.h"
#include "device/open.h"
#include "forwarding_device.h"
#include "platform/worker_pool.h"
#include "residency/staging/plan.h"
#include "residency/staging/slots.h"

namespace blastoff::residency {
namespace {

using device::Address;
using device::Block;

/// A device, a worker pool and a staging of a few slots.
struct Bench {
  Bench(bool delayed, std::size_t slot_bytes, std::size_t slots, int workers, const std::string& fault = "")
      : pool(platform::create_worker_pool(workers)) {
    device::Choice choice;
    choice.name = "simulated";
    choice.simulated_memory = std::size_t{64} << 20;
    choice.simulated_fault = fault;
    device = *device::open(choice);
    if (delayed) device = test::delayed(std::move(device), 1, 200);
    staging = *create_staging(*device, *pool, slot_bytes, slots);
    queue = *device->create_queue();
  }

  std::unique_ptr<platform::WorkerPool> pool;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<Staging> staging;
  std::unique_ptr<device::Queue> queue;
};

/// Host and device memory of one transfer. All other bytes are known, to see that they stay what they are.
class Matrix {
 public:
  Matrix(device::Device& device, std::size_t column_bytes, std::size_t columns, std::size_t host_gap,
         std::size_t device_gap, operation::Part part = operation::Part::full, std::size_t element_size = 1)
      : device_(device), host((column_bytes + host_gap) * columns + 64), before(host.size()) {
    transfer = {.host = host.data() + 16,
                .device = 0,
                .block = {column_bytes, columns, column_bytes + host_gap, column_bytes + device_gap},
                .part = part,
                .element_size = element_size};
    device_bytes = (column_bytes + device_gap) * columns + 64;
    address_ = *device.allocate(device::MemoryClient::copies, device_bytes);
    transfer.device = address_ + 16;
  }
  ~Matrix() { device_.free(address_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  void fill(std::mt19937& engine) {
    for (auto& byte : host) byte = static_cast<unsigned char>(engine());
    before = host;
  }
  std::vector<unsigned char> on_device(device::Queue& queue) const {
    std::vector<unsigned char> bytes(device_bytes);
    EXPECT_TRUE(queue.copy_to_host(bytes.data(), address_, {device_bytes, 1, device_bytes, device_bytes}));
    EXPECT_TRUE(queue.synchronize());
    return bytes;
  }
  void put_on_device(device::Queue& queue, const std::vector<unsigned char>& bytes) const {
    EXPECT_TRUE(queue.copy_to_device(address_, bytes.data(), {device_bytes, 1, device_bytes, device_bytes}));
    EXPECT_TRUE(queue.synchronize());
  }

  /// Whether byte `row` of column `column` is part of the transfer.
  bool belongs(std::size_t row, std::size_t column) const {
    const std::size_t element = row / transfer.element_size;
    if (transfer.part == operation::Part::upper) return element <= column;
    if (transfer.part == operation::Part::lower) return element >= column;
    return true;
  }

  /// `bytes` with the transfer's bytes replaced by those of `source`.
  std::vector<unsigned char> replaced(std::vector<unsigned char> bytes, std::size_t pitch,
                                      const std::vector<unsigned char>& source, std::size_t source_pitch) const {
    for (std::size_t column = 0; column < transfer.block.columns; ++column) {
      for (std::size_t row = 0; row < transfer.block.column_bytes; ++row) {
        if (belongs(row, column)) bytes[16 + column * pitch + row] = source[16 + column * source_pitch + row];
      }
    }
    return bytes;
  }

 private:
  device::Device& device_;
  Address address_ = 0;

 public:
  std::vector<unsigned char> host;
  std::vector<unsigned char> before;
  std::size_t device_bytes = 0;
  Transfer transfer;
};

void expect_exact_upload(Bench& bench, Matrix& matrix, std::mt19937& engine) {
  matrix.fill(engine);
  const auto before = matrix.on_device(*bench.queue);
  ASSERT_TRUE(bench.staging->upload({&matrix.transfer, 1}, *bench.queue));
  const auto after = matrix.on_device(*bench.queue);
  EXPECT_EQ(matrix.host, matrix.before);
  EXPECT_EQ(after,
            matrix.replaced(before, matrix.transfer.block.device_pitch, matrix.host, matrix.transfer.block.host_pitch));
}

void expect_exact_download(Bench& bench, Matrix& matrix, std::mt19937& engine) {
  matrix.fill(engine);
  std::vector<unsigned char> bytes(matrix.device_bytes);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(engine());
  matrix.put_on_device(*bench.queue, bytes);
  auto download = bench.staging->download({&matrix.transfer, 1}, *bench.queue);
  ASSERT_TRUE(download);
  ASSERT_TRUE((*download)->finish());
  EXPECT_TRUE((*download)->finish());
  EXPECT_EQ(matrix.host, matrix.replaced(matrix.before, matrix.transfer.block.host_pitch, bytes,
                                         matrix.transfer.block.device_pitch));
}

struct Shape {
  std::size_t column_bytes, columns, host_gap, device_gap;
};

class StagingTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Devices, StagingTest, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "delayed" : "simulated"; });

TEST_P(StagingTest, MovesOddBlocksExactly) {
  const std::vector<Shape> shapes = {{1, 1, 0, 0},      {4096, 1, 0, 0},   {100, 70, 0, 0},    {100, 70, 13, 0},
                                     {100, 70, 0, 28},  {100, 70, 13, 28}, {256, 2400, 64, 0}, {256, 2400, 64, 256},
                                     {70000, 3, 5, 11}, {300000, 2, 7, 0}, {1000, 999, 0, 0},  {640000, 1, 0, 0},
                                     {0, 5, 8, 8},      {3000, 0, 8, 8},   {8, 100000, 8, 0},  {8, 5000, 8, 8}};
  for (const auto& [slot_bytes, slots] : {std::pair{4096, 1}, std::pair{4096, 3}, std::pair{65536, 8}}) {
    for (const int workers : {0, 3}) {
      Bench bench(GetParam(), static_cast<std::size_t>(slot_bytes), static_cast<std::size_t>(slots), workers);
      std::mt19937 engine(1);
      for (const Shape& shape : shapes) {
        if (GetParam() && slot_bytes == 4096 && shape.column_bytes * shape.columns > 100000) continue;  // slow
        SCOPED_TRACE(testing::Message() << shape.column_bytes << " x " << shape.columns << " gaps " << shape.host_gap
                                        << ", " << shape.device_gap << " slots " << slots << " workers " << workers);
        Matrix matrix(*bench.device, shape.column_bytes, shape.columns, shape.host_gap, shape.device_gap);
        expect_exact_upload(bench, matrix, engine);
        expect_exact_download(bench, matrix, engine);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(StagingTest, MovesTrianglesExactly) {
  for (const auto& [slot_bytes, slots] : {std::pair{4096, 2}, std::pair{1 << 20, 4}}) {
    for (const operation::Part part : {operation::Part::upper, operation::Part::lower}) {
      for (const std::size_t size : {4, 16}) {
        for (const std::size_t n : {1, 2, 65, 150}) {
          Bench bench(GetParam(), static_cast<std::size_t>(slot_bytes), static_cast<std::size_t>(slots), 2);
          std::mt19937 engine(2);
          Matrix matrix(*bench.device, n * size, n, 3 * size, size, part, size);
          SCOPED_TRACE(testing::Message() << n << " of " << size << " bytes, slots of " << slot_bytes);
          expect_exact_download(bench, matrix, engine);
          if (!GetParam() || n < 100) expect_exact_upload(bench, matrix, engine);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(StagingTest, MovesManySmallTransfersAtOnce) {
  Bench bench(GetParam(), 16384, 4, 2);
  std::mt19937 engine(3);
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<Transfer> transfers;
  for (int i = 0; i < 60; ++i) {
    matrices.push_back(std::make_unique<Matrix>(*bench.device, 1 + engine() % 4096, 1 + engine() % 3, engine() % 2, 0));
    matrices.back()->fill(engine);
    transfers.push_back(matrices.back()->transfer);
  }
  ASSERT_TRUE(bench.staging->upload(transfers, *bench.queue));
  for (const auto& matrix : matrices) {
    std::fill(matrix->host.begin(), matrix->host.end(), static_cast<unsigned char>(0));
  }
  auto download = bench.staging->download(transfers, *bench.queue);
  ASSERT_TRUE(download);
  ASSERT_TRUE((*download)->finish());
  for (const auto& matrix : matrices) {
    EXPECT_EQ(matrix->host,
              matrix->replaced(std::vector<unsigned char>(matrix->host.size()), matrix->transfer.block.host_pitch,
                               matrix->before, matrix->transfer.block.host_pitch));
  }
}

TEST_P(StagingTest, EmptyTransfersMoveNothing) {
  Bench bench(GetParam(), 4096, 2, 1);
  ASSERT_TRUE(bench.staging->upload({}, *bench.queue));
  auto download = bench.staging->download({}, *bench.queue);
  ASSERT_TRUE(download);
  EXPECT_TRUE((*download)->finish());
}

TEST_P(StagingTest, DownloadsTakeWhatTheQueueHadComputed) {
  Bench bench(GetParam(), 4096, 8, 1);
  std::mt19937 engine(4);
  // One that fits the slots and one that does not: later work on the queue must not show in either.
  for (const std::size_t bytes : {std::size_t{10000}, std::size_t{100000}}) {
    Matrix matrix(*bench.device, bytes, 1, 0, 0);
    matrix.fill(engine);
    std::vector<unsigned char> first(matrix.device_bytes, 1);
    const std::vector<unsigned char> second(matrix.device_bytes, 2);
    matrix.put_on_device(*bench.queue, first);
    auto download = bench.staging->download({&matrix.transfer, 1}, *bench.queue);
    ASSERT_TRUE(download);
    matrix.put_on_device(*bench.queue, second);
    ASSERT_TRUE((*download)->finish());
    EXPECT_EQ(matrix.host, matrix.replaced(matrix.before, bytes, first, bytes));
  }
}

TEST_P(StagingTest, HostMemoryIsUntouchedUntilFinish) {
  Bench bench(GetParam(), 4096, 4, 1);
  std::mt19937 engine(5);
  Matrix matrix(*bench.device, 4000, 2, 0, 0);
  matrix.fill(engine);
  ASSERT_LE(matrix.transfer.block.column_bytes, bench.staging->whole_download_bytes());
  {
    auto download = bench.staging->download({&matrix.transfer, 1}, *bench.queue);
    ASSERT_TRUE(download);
    EXPECT_FALSE((*download)->host_touched());
    // Other transfers of this thread need the slots.
    Matrix other(*bench.device, 100000, 1, 0, 0);
    expect_exact_upload(bench, other, engine);
    expect_exact_download(bench, other, engine);
    EXPECT_FALSE((*download)->host_touched());
    EXPECT_EQ(matrix.host, matrix.before);
  }
  EXPECT_EQ(matrix.host, matrix.before);  // dropped, not finished
}

TEST_P(StagingTest, OutstandingDownloadsOfOneThreadMayExceedTheSlots) {
  Bench bench(GetParam(), 4096, 2, 1);
  std::mt19937 engine(6);
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<std::unique_ptr<Staging::Download>> downloads;
  for (int i = 0; i < 6; ++i) {
    matrices.push_back(std::make_unique<Matrix>(*bench.device, 3000, 1, 0, 0));
    matrices.back()->fill(engine);
    matrices.back()->put_on_device(
        *bench.queue, std::vector<unsigned char>(matrices.back()->device_bytes, static_cast<unsigned char>(i)));
    auto download = bench.staging->download({&matrices.back()->transfer, 1}, *bench.queue);
    ASSERT_TRUE(download);
    downloads.push_back(std::move(*download));
  }
  for (std::size_t i = 0; i < downloads.size(); ++i) {
    EXPECT_EQ(matrices[i]->host, matrices[i]->before);
    ASSERT_TRUE(downloads[i]->finish());
    EXPECT_EQ(matrices[i]->host[16], i);
    EXPECT_EQ(matrices[i]->host[16 + 2999], i);
  }
}

TEST_P(StagingTest, ManyThreadsShareFewSlots) {
  Bench bench(GetParam(), 8192, 3, 2);
  std::atomic<int> wrong{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 engine(seed);
    const auto queue = *bench.device->create_queue();
    for (int round = 0; round < 30; ++round) {
      Matrix one(*bench.device, 1 + engine() % 30000, 1 + engine() % 3, engine() % 20, engine() % 20);
      Matrix other(*bench.device, 1 + engine() % 5000, 1 + engine() % 3, 0, 0);
      one.fill(engine);
      other.fill(engine);
      const std::array transfers = {one.transfer, other.transfer};
      if (!bench.staging->upload(transfers, *queue)) ++wrong;
      std::fill(one.host.begin(), one.host.end(), static_cast<unsigned char>(0));
      std::fill(other.host.begin(), other.host.end(), static_cast<unsigned char>(0));
      auto first = bench.staging->download({&transfers[0], 1}, *queue);
      auto second = bench.staging->download({&transfers[1], 1}, *queue);
      if (!first || !second || !(*second)->finish() || !(*first)->finish()) {
        ++wrong;
        continue;
      }
      for (Matrix* matrix : {&one, &other}) {
        const std::size_t pitch = matrix->transfer.block.host_pitch;
        const std::vector<unsigned char> zeros(matrix->host.size());
        if (matrix->host != matrix->replaced(zeros, pitch, matrix->before, pitch)) ++wrong;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(StagingFaults, AFailedUploadSaysSoAndStagingGoesOn) {
  for (const char* fault : {"to-device:2:memory", "record:2:memory", "to-device:5:memory"}) {
    Bench bench(false, 4096, 3, 2, fault);
    std::mt19937 engine(8);
    Matrix matrix(*bench.device, 40000, 1, 0, 0);
    matrix.fill(engine);
    const auto failed = bench.staging->upload({&matrix.transfer, 1}, *bench.queue);
    ASSERT_FALSE(failed) << fault;
    EXPECT_EQ(failed.error().kind, device::ErrorKind::out_of_memory);
    expect_exact_upload(bench, matrix, engine);
    expect_exact_download(bench, matrix, engine);
  }
}

TEST(StagingFaults, AFailedDownloadLeavesHostMemoryAlone) {
  for (const char* fault : {"to-host:1", "to-host:2:memory", "record:1", "synchronize:1"}) {
    Bench bench(false, 4096, 8, 2, fault);
    std::mt19937 engine(9);
    Matrix matrix(*bench.device, 9000, 1, 0, 0);
    matrix.fill(engine);
    auto download = bench.staging->download({&matrix.transfer, 1}, *bench.queue);
    if (download) {
      EXPECT_FALSE((*download)->finish()) << fault;
      EXPECT_FALSE((*download)->finish()) << fault;
      EXPECT_FALSE((*download)->host_touched()) << fault;
    }
    EXPECT_EQ(matrix.host, matrix.before) << fault;
  }
}

TEST(StagingFaults, ALargeDownloadThatBreaksOffSaysThatHostMemoryIsTouched) {
  Bench bench(false, 4096, 4, 0, "to-host:6");
  std::mt19937 engine(10);
  Matrix matrix(*bench.device, 100000, 1, 0, 0);
  matrix.fill(engine);
  auto download = bench.staging->download({&matrix.transfer, 1}, *bench.queue);
  ASSERT_TRUE(download);
  EXPECT_TRUE((*download)->host_touched());
  EXPECT_FALSE((*download)->finish());
}

TEST(StagingFaults, WithoutMorePinnedMemoryOtherMemoryServes) {
  for (const char* fault : {"staging:2:memory", "staging:3:memory"}) {
    Bench bench(false, 4096, 6, 2, fault);
    std::mt19937 engine(4);
    Matrix matrix(*bench.device, 5000, 20, 8, 8);
    SCOPED_TRACE(fault);
    expect_exact_upload(bench, matrix, engine);
    expect_exact_download(bench, matrix, engine);
  }
}

TEST(StagingFaults, NoPinnedMemoryIsAnError) {
  device::Choice choice;
  choice.name = "simulated";
  choice.simulated_fault = "staging:1:memory";
  const auto device = *device::open(choice);
  const auto pool = platform::create_worker_pool(1);
  EXPECT_FALSE(create_staging(*device, *pool, 4096, 4));
}

/// Notes what is page-locked for staging, and refuses more than `most` bytes in all.
class CountingDevice : public test::ForwardingDevice {
 public:
  CountingDevice(std::unique_ptr<Device> inner, std::size_t most) : ForwardingDevice(std::move(inner)), max_(most) {}

  device::Result<void*> allocate_staging(std::size_t bytes) override {
    if (bytes > max_ - locked_) return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "no more"});
    locked_ += bytes;
    pieces.push_back(bytes);
    return ForwardingDevice::allocate_staging(bytes);
  }
  void free_staging(void* address, std::size_t bytes) override {
    freed += bytes;
    ForwardingDevice::free_staging(address, bytes);
  }

  std::vector<std::size_t> pieces;
  std::size_t freed = 0;

 private:
  const std::size_t max_;
  std::size_t locked_ = 0;
};

std::unique_ptr<CountingDevice> counting_device(std::size_t most) {
  device::Choice choice;
  choice.name = "simulated";
  return std::make_unique<CountingDevice>(*device::open(choice), most);
}

std::size_t first_load_bytes(const staging::Plan& plan) {
  std::size_t bytes = 0;
  for (const staging::Piece& piece : plan.of(plan.loads.front())) bytes += piece.bytes();
  return bytes;
}

/// Nothing is copied.
staging::Plan plan_of_upload(std::size_t bytes, std::size_t threads) {
  const Transfer transfer{.host = nullptr, .device = 0, .block = {bytes, 1, bytes, bytes}};
  return staging::make_plan({&transfer, 1}, staging::Direction::to_device, std::size_t{4} << 20, threads);
}

TEST(PlanOfUpload, HasSharesOfWhichTheFirstIsSoonThere) {
  constexpr std::size_t kibibyte = 1024;
  const std::size_t product = std::size_t{12} << 20;  // two matrices of order 1000, a half of one later
  EXPECT_EQ(first_load_bytes(plan_of_upload(product, 12)), 512 * kibibyte);
  EXPECT_LE(first_load_bytes(plan_of_upload(product, 2)), 1280 * kibibyte);
  EXPECT_EQ(first_load_bytes(plan_of_upload(std::size_t{1} << 20, 12)), 256 * kibibyte);
  EXPECT_EQ(first_load_bytes(plan_of_upload(std::size_t{224} << 20, 12)), 2048 * kibibyte);
}

TEST(PlanOfUpload, LocksMoreSlotsOnlyWhereItIsLong) {
  EXPECT_EQ(staging::loads_in_flight(plan_of_upload(std::size_t{12} << 20, 12)), 8U);
  EXPECT_EQ(staging::loads_in_flight(plan_of_upload(std::size_t{224} << 20, 12)), 16U);
}

TEST(Slots, OfShortUploadsAreUsedAgainBeforeOthersAreLocked) {
  const auto device = counting_device(SIZE_MAX);
  const auto queue = *device->create_queue();
  auto slots = *staging::Slots::create(*device, 4096, 36);
  const auto upload = [&](std::size_t loads, std::size_t in_flight) {
    for (std::size_t i = 0; i < loads; ++i) {
      staging::Slot* const slot = slots->take_one(in_flight);
      EXPECT_TRUE(queue->record(*slot->event));
      slots->give_back_after_event(slot);
    }
    return std::accumulate(device->pieces.begin(), device->pieces.end(), std::size_t{0}) / 4096;
  };
  EXPECT_EQ(upload(100, staging::few_in_flight), 8U);
  EXPECT_EQ(upload(100, staging::max_in_flight), 16U);
}

TEST(Slots, AreTwiceAsManyEachTimeUpToEightMore) {
  const auto device = counting_device(SIZE_MAX);
  auto slots = *staging::Slots::create(*device, 4096, 20);
  EXPECT_EQ(device->pieces, (std::vector<std::size_t>{4096}));
  std::vector<staging::Slot*> taken;
  for (int i = 0; i < 20; ++i) {
    staging::Slot* const slot = slots->try_take(20);
    ASSERT_NE(slot, nullptr);
    std::memset(slot->memory, i, slots->slot_bytes());
    taken.push_back(slot);
  }
  EXPECT_EQ(device->pieces, (std::vector<std::size_t>{4096, 4096, 2 * 4096, 4 * 4096, 8 * 4096, 4 * 4096}));
  EXPECT_EQ(slots->try_take(20), nullptr);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)]->memory[4095], std::byte(i));
  for (staging::Slot* slot : taken) slots->give_back(slot);
  slots.reset();
  EXPECT_EQ(device->freed, 20U * 4096);
}

TEST(Slots, ArePlainMemoryWhereThereIsNoMoreToLock) {
  const auto device = counting_device(7 * 4096);
  auto slots = *staging::Slots::create(*device, 4096, 20);
  const auto taken = slots->take(20);
  EXPECT_EQ(device->pieces, (std::vector<std::size_t>{4096, 4096, 2 * 4096, 2 * 4096, 4096}));
  for (staging::Slot* slot : taken) std::memset(slot->memory, 1, slots->slot_bytes());
  EXPECT_EQ(std::ranges::count_if(taken, [](const staging::Slot* slot) { return slot->page_locked; }), 7);
  for (staging::Slot* slot : taken) slots->give_back(slot);
}

/// Notes how many runs were queued at once.
class RunsQueue final : public test::ForwardingQueue {
 public:
  RunsQueue(std::unique_ptr<device::Queue> inner, std::size_t& runs) : ForwardingQueue(std::move(inner)), runs_(runs) {}
  device::Status copy_runs_to_device(std::span<const device::Run> runs) override {
    runs_ += runs.size();
    return Queue::copy_runs_to_device(runs);
  }

 private:
  std::size_t& runs_;
};

/// What copies them may reach no other memory.
TEST(StagingRuns, GoAtOnceFromPageLockedSlotsAlone) {
  constexpr std::size_t slot_bytes = std::size_t{64} << 10;
  constexpr std::size_t run_bytes = 1024;
  for (const bool enough : {true, false}) {
    const auto device = counting_device(enough ? SIZE_MAX : slot_bytes);
    const auto pool = platform::create_worker_pool(0);
    const auto staging = *create_staging(*device, *pool, slot_bytes, 4);
    std::size_t runs = 0;
    RunsQueue queue(*device->create_queue(), runs);
    const std::vector<std::byte> host(2 * slot_bytes * 4, std::byte{7});
    const device::Address memory = *device->allocate(device::MemoryClient::copies, host.size());
    std::vector<Transfer> transfers;
    for (std::size_t at = 0; at < host.size(); at += 2 * run_bytes)
      transfers.push_back(
          {const_cast<std::byte*>(host.data()) + at, memory + at, {run_bytes, 1, run_bytes, run_bytes}});
    ASSERT_TRUE(staging->upload(transfers, queue));
    ASSERT_TRUE(queue.synchronize());
    EXPECT_EQ(runs, enough ? transfers.size() : slot_bytes / run_bytes) << "four loads, one of them page-locked";
    device->free(memory);
  }
}

}  // namespace
}  // namespace blastoff::residency
