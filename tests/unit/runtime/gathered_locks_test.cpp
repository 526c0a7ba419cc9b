// Page locks on gathered matrices: from the second call on, kept between calls, and never needed.
#include "runtime/gathered_locks.h"

#include <gtest/gtest.h>

#include "forwarding_device.h"
#include "simulated_device.h"

namespace blastoff::runtime {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t matrix_bytes = 16 * page;

class LockingDevice final : public test::ForwardingDevice {
 public:
  LockingDevice() : ForwardingDevice(test::open_simulated(std::size_t{1} << 20)) {}

  bool may_pin() override { return true; }
  device::Status pin(void*, std::size_t bytes) override {
    if (refuses) return tl::unexpected(device::Error{device::ErrorKind::failed, "refused"});
    locked += bytes;
    return {};
  }
  void unpin(void*, std::size_t bytes) override { locked -= bytes; }

  bool refuses = false;
  std::size_t locked = 0;
};

class GatheredLocksTest : public testing::Test {
 protected:
  GatheredLocksTest() {
    operation_.add({.address = segment_,
                    .rows = page / sizeof(double),
                    .columns = matrix_bytes / page,
                    .leading_dimension = page / sizeof(double),
                    .element_size = sizeof(double),
                    .intent = operation::Intent::update});
  }
  void SetUp() override { begin_segment(span_); }
  void TearDown() override { end_segment(span_); }

  /// A call: whether its matrix is copied directly.
  bool is_direct() { return is_direct(span_); }
  bool is_direct(platform::Span memory) {
    const GatheredLocks locks(device_, operation_, memory);
    const platform::Span column{span_.begin + page, span_.begin + 2 * page};
    EXPECT_EQ(locks.readable(column), locks.writable(column));
    EXPECT_FALSE(locks.readable({span_.end, span_.end + page}));
    return locks.readable(column);
  }

  alignas(page) std::byte segment_[2 * matrix_bytes];
  const platform::Span span_{reinterpret_cast<std::uintptr_t>(segment_),
                             reinterpret_cast<std::uintptr_t>(segment_) + matrix_bytes};
  operation::Operation operation_;
  LockingDevice device_;
};

TEST_F(GatheredLocksTest, BeginWithTheSecondCallAndStay) {
  EXPECT_FALSE(is_direct()) << "one call does not pay for them";
  EXPECT_TRUE(is_direct());
  EXPECT_TRUE(is_direct());
  EXPECT_EQ(device_.locked, matrix_bytes) << "once";
}

TEST_F(GatheredLocksTest, MayComeBeforeTheFirstCall) {
  lock_ahead(device_, span_);
  EXPECT_EQ(device_.locked, matrix_bytes);
  EXPECT_TRUE(is_direct());
}

TEST_F(GatheredLocksTest, EndWithTheMemory) {
  is_direct();
  is_direct();
  end_segment(span_);
  EXPECT_EQ(device_.locked, 0U);
  lock_ahead(device_, span_);
  EXPECT_EQ(device_.locked, 0U) << "other memory may lie there now";
}

TEST_F(GatheredLocksTest, AreNotOnOtherMemory) {
  const platform::Span other{span_.begin + page, span_.end};
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_direct(other));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_direct({}));
}

TEST_F(GatheredLocksTest, AreDoneWithoutWhereTheDriverRefuses) {
  device_.refuses = true;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_direct());
}

}  // namespace
}  // namespace blastoff::runtime
