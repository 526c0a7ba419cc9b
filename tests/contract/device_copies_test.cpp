// Copies move exactly the block, from and to every kind of host memory, in the order in which they were queued.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <gtest/gtest.h>

#include "device_fixture.h"

namespace blastoff::test {
namespace {

using device::Address;
using device::Block;
using device::ErrorKind;

std::size_t span_of(const Block& block, std::size_t pitch) {
  return block.columns == 0 ? 0 : (block.columns - 1) * pitch + block.column_bytes;
}

/// Copies a block between byte vectors in the way that the contract demands.
void expect_block(Bytes& to, std::size_t to_pitch, const Bytes& from, std::size_t from_pitch, const Block& block) {
  for (std::size_t column = 0; column < block.columns; ++column) {
    for (std::size_t byte = 0; byte < block.column_bytes; ++byte) {
      to[column * to_pitch + byte] = from[column * from_pitch + byte];
    }
  }
}

class DeviceCopiesTest : public DeviceTest {
 protected:
  /// Uploads a block into patterned device memory and downloads it into patterned host memory. Nothing else may change.
  void round_trip(const Block& block, unsigned char* host, std::size_t host_bytes) {
    SCOPED_TRACE(testing::Message() << block.columns << " columns of " << block.column_bytes << " bytes, pitches "
                                    << block.host_pitch << " and " << block.device_pitch);
    constexpr std::size_t margin = 64;
    const std::size_t device_bytes = span_of(block, block.device_pitch) + 2 * margin;
    ASSERT_LE(span_of(block, block.host_pitch) + margin, host_bytes);
    const auto stream = queue();
    const DeviceMemory memory(*device_, device_bytes);
    const Bytes source = pattern(host_bytes, 1);
    Bytes on_device = pattern(device_bytes, 2);
    upload(*stream, memory.address(), on_device);

    std::memcpy(host, source.data(), host_bytes);
    ASSERT_OK(stream->copy_to_device(memory.address() + margin, host, block));
    ASSERT_OK(stream->synchronize());
    EXPECT_EQ(Bytes(host, host + host_bytes), source);
    Bytes inner(on_device.begin() + margin, on_device.end());
    expect_block(inner, block.device_pitch, source, block.host_pitch, block);
    std::copy(inner.begin(), inner.end(), on_device.begin() + margin);
    ASSERT_EQ(download(*stream, memory.address(), device_bytes), on_device);

    Bytes expected = pattern(host_bytes, 3);
    std::memcpy(host, expected.data(), host_bytes);
    ASSERT_OK(stream->copy_to_host(host, memory.address() + margin, block));
    ASSERT_OK(stream->synchronize());
    expect_block(expected, block.host_pitch, source, block.host_pitch, block);
    EXPECT_EQ(Bytes(host, host + host_bytes), expected);
    EXPECT_EQ(download(*stream, memory.address(), device_bytes), on_device);
  }

  void round_trips(unsigned char* host, std::size_t host_bytes) {
    const Block blocks[] = {
        {1000, 1, 1000, 1000},  // one run
        {1000, 1, 7, 9},        // the pitches of a single run are ignored
        {96, 10, 96, 96},       // contiguous on both sides
        {96, 10, 200, 96},      // gaps on the host
        {96, 10, 96, 160},      // gaps on the device
        {96, 10, 200, 112},     // gaps on both
        {8, 500, 40, 16},       // many short columns
        {3, 7, 5, 4},           // odd sizes
        {4093, 3, 5000, 4099},  // parts of pages
        {0, 5, 8, 8},           // nothing
        {8, 0, 8, 8},
    };
    for (const auto& block : blocks) round_trip(block, host, host_bytes);
  }

  static constexpr std::size_t host_bytes_ = std::size_t{1} << 16;
};
BLASTOFF_EVERY_DEVICE(DeviceCopiesTest);

TEST_P(DeviceCopiesTest, FromAndToOrdinaryMemory) {
  Bytes host(host_bytes_);
  round_trips(host.data(), host.size());
}

TEST_P(DeviceCopiesTest, FromAndToStagingMemory) {
  const auto staging = device_->allocate_staging(host_bytes_);
  ASSERT_OK(staging);
  round_trips(static_cast<unsigned char*>(*staging), host_bytes_);
  device_->free_staging(*staging, host_bytes_);
}

TEST_P(DeviceCopiesTest, FromAndToPinnedMemory) {
  void* host = std::aligned_alloc(4096, host_bytes_);
  ASSERT_NE(host, nullptr);
  const auto pinned = device_->pin(host, host_bytes_);
  EXPECT_EQ(pinned.has_value(), device_->properties().can_pin);
  if (pinned) {
    round_trips(static_cast<unsigned char*>(host), host_bytes_);
    device_->unpin(host, host_bytes_);
  } else {
    EXPECT_EQ(pinned.error().kind, ErrorKind::unsupported);
  }
  std::free(host);
}

/// Runs such as the pages of a large matrix: few and many, of equal and of different lengths, aligned or not.
TEST_P(DeviceCopiesTest, ManyRunsAtOnce) {
  constexpr std::size_t host_bytes = std::size_t{4} << 20;
  const auto staging = device_->allocate_staging(host_bytes);
  ASSERT_OK(staging);
  auto* const host = static_cast<unsigned char*>(*staging);
  const Bytes contents = pattern(host_bytes, 3);
  std::copy(contents.begin(), contents.end(), host);
  const auto stream = queue();
  const DeviceMemory memory(*device_, 2 * host_bytes);
  for (const std::size_t count : {1U, 15U, 16U, 160U, 161U, 500U}) {
    for (const std::size_t step : {4096U, 4100U, 4097U}) {  // words of 8, 4 and 1 bytes
      upload(*stream, memory.address(), pattern(2 * host_bytes, 4));
      Bytes expected = pattern(2 * host_bytes, 4);
      std::vector<device::Run> runs;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t bytes = i % 3 == 0 && step != 4097 ? 1024 : step;
        const device::Run run{memory.address() + i * 2 * step, host + i * step, bytes};
        std::copy_n(host + i * step, bytes, expected.begin() + static_cast<std::ptrdiff_t>(i * 2 * step));
        runs.push_back(run);
      }
      ASSERT_OK(stream->copy_runs_to_device(runs));
      EXPECT_EQ(download(*stream, memory.address(), 2 * host_bytes), expected) << count << " runs, " << step;
    }
  }
  device_->free_staging(*staging, host_bytes);
}

TEST_P(DeviceCopiesTest, ColumnsMoreThanTwoGibibytesApart) {
  constexpr std::size_t pitch = (std::size_t{3} << 30) + 24;
  const Block block{1000, 3, pitch, 1000};
  const std::size_t bytes = span_of(block, pitch);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* host = static_cast<unsigned char*>(mapped);
  const Bytes columns = pattern(3000, 1);
  for (std::size_t column = 0; column < 3; ++column) std::memcpy(host + column * pitch, &columns[column * 1000], 1000);
  const auto stream = queue();
  const DeviceMemory memory(*device_, 3000);
  ASSERT_OK(stream->copy_to_device(memory.address(), host, block));
  EXPECT_EQ(download(*stream, memory.address(), 3000), columns);
  upload(*stream, memory.address(), pattern(3000, 2));
  ASSERT_OK(stream->copy_to_host(host, memory.address(), block));
  ASSERT_OK(stream->synchronize());
  for (std::size_t column = 0; column < 3; ++column) {
    EXPECT_EQ(std::memcmp(host + column * pitch, &pattern(3000, 2)[column * 1000], 1000), 0);
    EXPECT_EQ(host[column * pitch + (column < 2 ? 1000 : 999)], column < 2 ? 0 : pattern(3000, 2)[2999]);
  }
  munmap(mapped, bytes);
}

TEST_P(DeviceCopiesTest, RunInTheOrderOfTheirQueue) {
  constexpr std::size_t bytes = std::size_t{2} << 20;
  const auto stream = queue();
  const DeviceMemory memory(*device_, bytes);
  const Bytes first = pattern(bytes, 1);
  const Bytes second = pattern(bytes, 2);
  Bytes seen_first(bytes);
  Bytes seen_second(bytes);
  ASSERT_OK(stream->copy_to_device(memory.address(), first.data(), run_of(bytes)));
  ASSERT_OK(stream->copy_to_host(seen_first.data(), memory.address(), run_of(bytes)));
  ASSERT_OK(stream->copy_to_device(memory.address(), second.data(), run_of(bytes)));
  ASSERT_OK(stream->copy_to_host(seen_second.data(), memory.address(), run_of(bytes)));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(seen_first, first);
  EXPECT_EQ(seen_second, second);
}

TEST_P(DeviceCopiesTest, EventsOrderQueuesAndCanBeUsedAgain) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const auto up = queue();
  const auto down = queue();
  const auto uploaded = event();
  const auto downloaded = event();
  const DeviceMemory memory(*device_, bytes);
  const auto staging_up = device_->allocate_staging(bytes);
  const auto staging_down = device_->allocate_staging(bytes);
  ASSERT_OK(staging_up);
  ASSERT_OK(staging_down);
  for (unsigned round = 1; round <= 3; ++round) {
    const Bytes sent = pattern(bytes, round);
    std::memcpy(*staging_up, sent.data(), bytes);
    ASSERT_OK(up->copy_to_device(memory.address(), *staging_up, run_of(bytes)));
    ASSERT_OK(up->record(*uploaded));
    ASSERT_OK(down->wait(*uploaded));
    ASSERT_OK(down->copy_to_host(*staging_down, memory.address(), run_of(bytes)));
    ASSERT_OK(down->record(*downloaded));
    ASSERT_OK(downloaded->synchronize());
    EXPECT_EQ(std::memcmp(*staging_down, sent.data(), bytes), 0) << "round " << round;
  }
  device_->free_staging(*staging_up, bytes);
  device_->free_staging(*staging_down, bytes);
}

class DeviceTriangleTest : public DeviceTest {};
BLASTOFF_EVERY_DEVICE(DeviceTriangleTest);

TEST_P(DeviceTriangleTest, CopiesExactlyTheTriangleToPinnedMemory) {
  constexpr std::size_t host_bytes = std::size_t{5} << 20;
  auto* host = static_cast<unsigned char*>(std::aligned_alloc(4096, host_bytes));
  ASSERT_NE(host, nullptr);
  if (auto pinned = device_->pin(host, host_bytes); !pinned) {
    const auto stream = queue();
    const auto refused = stream->copy_triangle_to_host(host, 1, {1, 1, 8, operation::Part::upper, 8, 8});
    std::free(host);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    return;
  }
  const auto stream = queue();
  const DeviceMemory memory(*device_, host_bytes);
  const Bytes source = pattern(host_bytes, 1);
  upload(*stream, memory.address(), source);
  struct Case {
    std::size_t n, block, element_size, host_pitch, device_pitch, offset;
  };
  const Case cases[] = {{1, 1, 8, 8, 8, 0},
                        {1, 1, 16, 16, 16, 0},
                        {33, 33, 4, 140, 132, 4},
                        {33, 4, 4, 140, 132, 4},
                        {100, 100, 8, 800, 800, 0},
                        {100, 10, 8, 800, 800, 0},
                        {100, 99, 8, 800, 800, 8},
                        {257, 257, 8, 2064, 2056, 8},
                        {257, 64, 8, 2064, 2056, 8},
                        {65, 1000, 16, 1048, 1040, 8},
                        {65, 16, 16, 1048, 1040, 8},
                        {65, 65, 16, 1044, 1060, 4},
                        {65, 1, 16, 1044, 1060, 4},
                        {100, 100, 8, 812, 804, 4},
                        {700, 700, 8, 5600, 6000, 16},
                        {700, 256, 8, 5600, 6000, 16},
                        {300, 300, 4, 1204, 1200, 0},
                        {300, 299, 4, 1204, 1200, 0}};
  for (const auto& c : cases) {
    for (const auto part : {operation::Part::upper, operation::Part::lower}) {
      SCOPED_TRACE(testing::Message() << c.n << " elements of " << c.element_size << " bytes in blocks of " << c.block
                                      << ", part " << static_cast<int>(part));
      Bytes expected = pattern(host_bytes, 2);
      std::memcpy(host, expected.data(), host_bytes);
      ASSERT_OK(stream->copy_triangle_to_host(host + c.offset, memory.address() + c.offset,
                                              {static_cast<std::int64_t>(c.n), static_cast<std::int64_t>(c.block),
                                               c.element_size, part, c.host_pitch, c.device_pitch}));
      ASSERT_OK(stream->synchronize());
      for (std::size_t j = 0; j < c.n; ++j) {
        const std::size_t top = j / c.block * c.block;
        const std::size_t begin = (part == operation::Part::upper ? top : j) * c.element_size;
        const std::size_t end =
            (part == operation::Part::upper ? j + 1 : std::min(c.n, top + c.block)) * c.element_size;
        std::copy(source.begin() + static_cast<std::ptrdiff_t>(c.offset + j * c.device_pitch + begin),
                  source.begin() + static_cast<std::ptrdiff_t>(c.offset + j * c.device_pitch + end),
                  expected.begin() + static_cast<std::ptrdiff_t>(c.offset + j * c.host_pitch + begin));
      }
      EXPECT_EQ(std::memcmp(host, expected.data(), host_bytes), 0);
    }
  }
  device_->unpin(host, host_bytes);
  std::free(host);
}

class DevicePinTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!device_->properties().can_pin) GTEST_SKIP() << "this device pins no memory";
  }
};
BLASTOFF_EVERY_DEVICE(DevicePinTest);

TEST_P(DevicePinTest, TwiceIsRefusedAndTheDeviceGoesOn) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  void* host = std::aligned_alloc(4096, bytes);
  ASSERT_OK(device_->pin(host, bytes));
  const auto refused = device_->pin(host, bytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  device_->unpin(host, bytes);
  EXPECT_OK(device_->pin(host, bytes));
  device_->unpin(host, bytes);
  std::free(host);
}

TEST_P(DevicePinTest, OwnPinsAreNotTheProgramsOwn) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  auto* host = static_cast<unsigned char*>(std::aligned_alloc(4096, bytes));
  EXPECT_FALSE(device_->registered_by_program(host));
  ASSERT_OK(device_->pin(host, bytes));
  EXPECT_FALSE(device_->registered_by_program(host));
  EXPECT_FALSE(device_->registered_by_program(host + bytes - 1));
  device_->unpin(host, bytes);
  EXPECT_FALSE(device_->registered_by_program(host));
  std::free(host);
}

TEST_P(DevicePinTest, CanBeEndedAfterTheMemoryWentAway) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_OK(device_->pin(host, bytes));
  munmap(host, bytes);
  device_->unpin(host, bytes);
  // The address is free again and can be mapped.
  void* again = mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(again, host);
  EXPECT_OK(device_->pin(again, bytes));
  device_->unpin(again, bytes);
  munmap(again, bytes);
}

}  // namespace
}  // namespace blastoff::test
