// Device memory: plain, reserved and backed memory, and their limits.
#include <algorithm>
#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

#include "blas/host_routine.h"
#include "device_fixture.h"
#include "product_call.h"

namespace blastoff::test {
namespace {

using device::Address;
using device::ErrorKind;
using device::MemoryAccountant;
using device::MemoryClient;

class DeviceMemoryTest : public DeviceTest {};
BLASTOFF_EVERY_DEVICE(DeviceMemoryTest);

TEST_P(DeviceMemoryTest, SaysWhatItIs) {
  const auto& properties = device_->properties();
  EXPECT_EQ(properties.kind, GetParam());
  EXPECT_FALSE(properties.name.empty());
  EXPECT_FALSE(properties.software.empty());
  EXPECT_EQ(properties.software.find('\n'), std::string::npos);
  const auto info = device_->memory_info();
  ASSERT_OK(info);
  EXPECT_GT(info->free, 0U);
  EXPECT_LE(info->free, info->total);
}

TEST_P(DeviceMemoryTest, AllocatesAlignedDisjointMemory) {
  const auto stream = queue();
  std::vector<std::unique_ptr<DeviceMemory>> memories;
  for (std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{1000000}}) {
    memories.push_back(std::make_unique<DeviceMemory>(*device_, bytes));
    EXPECT_NE(memories.back()->address(), 0U);
    EXPECT_EQ(memories.back()->address() % 256, 0U);
    upload(*stream, memories.back()->address(), Bytes(bytes, static_cast<unsigned char>(memories.size())));
  }
  EXPECT_EQ(download(*stream, memories[1]->address(), 100), Bytes(100, 2));
  EXPECT_EQ(download(*stream, memories[3]->address(), 1000000), Bytes(1000000, 4));
}

TEST_P(DeviceMemoryTest, FreeingGivesMemoryBack) {
  constexpr std::size_t large = std::size_t{64} << 20;
  const auto before = device_->memory_info();
  {
    const DeviceMemory memory(*device_, large);
    EXPECT_LE(device_->memory_info()->free + large, before->free);
  }
  EXPECT_GE(device_->memory_info()->free + (large / 8), before->free);
  device_->free(0);
}

TEST_P(DeviceMemoryTest, TooMuchIsOutOfMemoryAndTheDeviceGoesOn) {
  const auto total = device_->memory_info()->total;
  const auto refused = device_->allocate(MemoryClient::copies, 2 * total);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  const auto stream = queue();
  const DeviceMemory memory(*device_, 4096);
  upload(*stream, memory.address(), pattern(4096, 1));
  EXPECT_EQ(download(*stream, memory.address(), 4096), pattern(4096, 1));
}

TEST_P(DeviceMemoryTest, WhatIsAllocatedIsOnTheClientsAccount) {
  constexpr std::size_t bytes = std::size_t{3} << 20;
  MemoryAccountant& accountant = device_->accountant();
  const auto others = accountant.held(MemoryClient::mirrors);
  const auto before = accountant.held(MemoryClient::copies);
  {
    const DeviceMemory memory(*device_, bytes);
    EXPECT_EQ(accountant.held(MemoryClient::copies).now, before.now + bytes);
    EXPECT_FALSE(device_->allocate(MemoryClient::copies, 2 * device_->memory_info()->total));
    EXPECT_EQ(accountant.held(MemoryClient::copies).now, before.now + bytes);
  }
  EXPECT_EQ(accountant.held(MemoryClient::copies).now, before.now);
  EXPECT_GE(accountant.held(MemoryClient::copies).most, before.now + bytes);
  EXPECT_EQ(accountant.held(MemoryClient::mirrors).now, others.now);
}

TEST_P(DeviceMemoryTest, BeyondItsBudgetAClientIsOutOfMemory) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  MemoryAccountant& accountant = device_->accountant();
  accountant.limit(MemoryClient::workspaces, accountant.held(MemoryClient::workspaces).now + bytes);
  const auto refused = device_->allocate(MemoryClient::workspaces, bytes + 1);
  const auto fitting = device_->allocate(MemoryClient::workspaces, bytes);
  accountant.limit(MemoryClient::workspaces, SIZE_MAX);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  ASSERT_OK(fitting);
  device_->free(*fitting);
}

TEST_P(DeviceMemoryTest, PageLockedMemoryIsAccountedFor) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  static platform::MemoryGauge gauge{};  // static, because it must outlive the device
  device_->accountant().show_in(gauge);
  const std::uint64_t staged = gauge.staged;
  const std::uint64_t pinned = gauge.pinned;
  const auto staging = device_->allocate_staging(bytes);
  ASSERT_OK(staging);
  EXPECT_EQ(gauge.staged, staged + bytes);
  device_->free_staging(*staging, bytes);
  EXPECT_EQ(gauge.staged, staged);
  void* const memory = std::aligned_alloc(4096, bytes);
  const bool pins = device_->pin(memory, bytes).has_value();
  EXPECT_EQ(pins, device_->properties().can_pin);
  EXPECT_EQ(gauge.pinned, pinned + (pins ? bytes : 0));
  if (pins) device_->unpin(memory, bytes);
  EXPECT_EQ(gauge.pinned, pinned);
  std::free(memory);
}

/// Small and large staging memory is allocated in different ways.
TEST_P(DeviceMemoryTest, StagingOfEverySizeTakesCopiesBothWays) {
  const auto stream = queue();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20, (std::size_t{5} << 20) + 12}) {
    const auto staging = device_->allocate_staging(bytes);
    ASSERT_OK(staging);
    const auto memory = device_->allocate(MemoryClient::copies, bytes);
    ASSERT_OK(memory);
    auto* const text = static_cast<unsigned char*>(*staging);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<unsigned char>(i * 7 + i / 251);
    ASSERT_OK(stream->copy_to_device(*memory, text, run_of(bytes)));
    ASSERT_OK(stream->synchronize());
    std::memset(text, 0, bytes);
    ASSERT_OK(stream->copy_to_host(text, *memory, run_of(bytes)));
    ASSERT_OK(stream->synchronize());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) wrong += text[i] != static_cast<unsigned char>(i * 7 + i / 251) ? 1 : 0;
    EXPECT_EQ(wrong, 0U) << bytes;
    device_->free(*memory);
    device_->free_staging(*staging, bytes);
  }
}

class DeviceReservationTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!device_->properties().can_reserve) GTEST_SKIP() << "no virtual memory management on this device";
    granularity_ = device_->properties().backing_granularity;
  }
  std::size_t granularity_ = 0;
};
BLASTOFF_EVERY_DEVICE(DeviceReservationTest);

TEST_P(DeviceReservationTest, BacksAnyPartAndTakesItAway) {
  const auto address = device_->reserve(16 * granularity_);
  ASSERT_OK(address);
  EXPECT_EQ(*address % granularity_, 0U);
  const auto stream = queue();
  // Backs pieces out of order, the middle one last. Neighbours must keep their contents.
  const Address first = *address;
  const Address third = *address + 2 * granularity_;
  ASSERT_OK(device_->back(MemoryClient::mirrors, third, 3 * granularity_));
  ASSERT_OK(device_->back(MemoryClient::mirrors, first, granularity_));
  upload(*stream, first, pattern(granularity_, 1));
  upload(*stream, third, pattern(3 * granularity_, 3));
  ASSERT_OK(device_->back(MemoryClient::mirrors, first + granularity_, granularity_));
  upload(*stream, first + granularity_, pattern(granularity_, 2));
  EXPECT_EQ(download(*stream, first, granularity_), pattern(granularity_, 1));
  EXPECT_EQ(download(*stream, third, 3 * granularity_), pattern(3 * granularity_, 3));

  // One copy may cross from one backed piece to the next.
  const auto across = pattern(2 * granularity_, 4);
  upload(*stream, first + granularity_ / 2, across);
  EXPECT_EQ(download(*stream, first + granularity_ / 2, across.size()), across);

  // Unbacking the middle piece leaves both neighbours, and the piece can be backed again.
  device_->unback(first + granularity_, granularity_);
  const auto half = download(*stream, first, granularity_ / 2);
  EXPECT_TRUE(std::equal(half.begin(), half.end(), pattern(granularity_, 1).begin()));
  EXPECT_EQ(download(*stream, third + granularity_, granularity_).size(), granularity_);
  ASSERT_OK(device_->back(MemoryClient::mirrors, first + granularity_, granularity_));
  upload(*stream, first + granularity_, pattern(granularity_, 5));
  EXPECT_EQ(download(*stream, first + granularity_, granularity_), pattern(granularity_, 5));

  device_->unback(first + granularity_, granularity_);
  device_->unback(first, granularity_);
  device_->unback(third, 3 * granularity_);
  device_->release(*address, 16 * granularity_);
  EXPECT_OK(stream->synchronize());
}

TEST_P(DeviceReservationTest, TakingMemoryAwayGivesItBack) {
  const std::size_t bytes = 32 * granularity_;
  const auto address = device_->reserve(bytes);
  ASSERT_OK(address);
  const auto before = device_->memory_info()->free;
  ASSERT_OK(device_->back(MemoryClient::mirrors, *address, bytes));
  EXPECT_LE(device_->memory_info()->free + bytes, before);
  device_->unback(*address, bytes);
  EXPECT_GE(device_->memory_info()->free + granularity_, before);
  device_->release(*address, bytes);
}

TEST_P(DeviceReservationTest, WhatIsBackedIsOnTheClientsAccount) {
  MemoryAccountant& accountant = device_->accountant();
  const std::size_t before = accountant.held(MemoryClient::mirrors).now;
  const auto address = device_->reserve(4 * granularity_);
  ASSERT_OK(address);
  EXPECT_EQ(accountant.held(MemoryClient::mirrors).now, before) << "a reservation is no memory";
  ASSERT_OK(device_->back(MemoryClient::mirrors, *address, granularity_));
  ASSERT_OK(device_->back(MemoryClient::mirrors, *address + granularity_, 3 * granularity_));
  EXPECT_EQ(accountant.held(MemoryClient::mirrors).now, before + 4 * granularity_);
  device_->unback(*address, granularity_);
  EXPECT_EQ(accountant.held(MemoryClient::mirrors).now, before + 3 * granularity_);
  accountant.limit(MemoryClient::mirrors, before + 3 * granularity_);
  const auto refused = device_->back(MemoryClient::mirrors, *address, granularity_);
  accountant.limit(MemoryClient::mirrors, SIZE_MAX);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  device_->unback(*address + granularity_, 3 * granularity_);
  EXPECT_EQ(accountant.held(MemoryClient::mirrors).now, before);
  device_->release(*address, 4 * granularity_);
}

TEST_P(DeviceReservationTest, ReservesTheLargestThatItPromises) {
  const auto bytes = device_->properties().largest_reservation;
  ASSERT_GE(bytes, std::size_t{1} << 30);
  const auto address = device_->reserve(bytes);
  ASSERT_OK(address);
  // The far end can be used like any other part.
  const Address last = *address + bytes - granularity_;
  ASSERT_OK(device_->back(MemoryClient::mirrors, last, granularity_));
  const auto stream = queue();
  upload(*stream, last, pattern(granularity_, 7));
  EXPECT_EQ(download(*stream, last, granularity_), pattern(granularity_, 7));
  device_->unback(last, granularity_);
  device_->release(*address, bytes);
}

TEST_P(DeviceReservationTest, BackingMoreThanThereIsIsOutOfMemory) {
  const auto total = device_->memory_info()->total;
  const std::size_t bytes = (2 * total + granularity_ - 1) / granularity_ * granularity_;
  if (bytes > device_->properties().largest_reservation) GTEST_SKIP() << "more memory than can be reserved";
  const auto address = device_->reserve(bytes);
  ASSERT_OK(address);
  const auto refused = device_->back(MemoryClient::mirrors, *address, bytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory) << refused.error().message;
  // The failure has left nothing behind: a part of the same range can be backed.
  ASSERT_OK(device_->back(MemoryClient::mirrors, *address, granularity_));
  device_->unback(*address, granularity_);
  device_->release(*address, bytes);
}

TEST_P(DeviceMemoryTest, CopiesStayWithinWhatIsBacked) {
  if (!simulated()) GTEST_SKIP() << "a GPU would be lost to the tests that follow";
  device::Choice choice;
  choice.name = "simulated";
  const auto device = std::move(*device::open(choice));
  const std::size_t granule = device->properties().backing_granularity;
  const auto base = device->reserve(3 * granule);
  ASSERT_OK(base);
  ASSERT_OK(device->back(MemoryClient::mirrors, *base, granule));
  ASSERT_OK(device->back(MemoryClient::mirrors, *base + 2 * granule, granule));
  const auto queue = std::move(*device->create_queue());
  Bytes host(2 * 64);
  ASSERT_OK(queue->copy_to_device(*base, host.data(), {64, 1, 64, 64}));
  ASSERT_OK(queue->copy_to_device(*base + 2 * granule, host.data() + 64, {64, 1, 64, 64}));

  // An operation touches only the elements: two columns, with a hole between them.
  struct Set final : blas::HostRoutine {
    bool can_compute(const blas::Call&) const override { return true; }
    void compute(const blas::Call& call) const override {
      const operation::Operand& c = call.result();
      for (std::int64_t j = 0; j < c.columns; ++j) static_cast<double*>(c.address)[j * c.leading_dimension] = 7;
    }
  } const host_routine;
  const auto pitch = static_cast<std::int64_t>(2 * granule / sizeof(double));
  auto* matrix = reinterpret_cast<void*>(*base);
  EXPECT_OK(queue->execute(product_call({matrix, matrix, matrix}, 1, 2, 1, 0, {1, 1, pitch}), host_routine));

  EXPECT_FALSE(queue->copy_to_host(host.data(), *base, {64, 2, 64, 2 * granule}));
  EXPECT_FALSE(queue->synchronize()) << "a copy over a hole is a fault of the device's";
}

}  // namespace
}  // namespace blastoff::test
