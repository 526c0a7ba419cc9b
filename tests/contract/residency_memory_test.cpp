// Unusual memory of operands: replaced by other memory, read-only, known to the device already, or with large gaps.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include <chrono>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "platform/descriptor.h"
#include "product_call.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::Routine;

constexpr int private_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Doubles in pages between two inaccessible ones, which keep the kernel from joining the mapping to others. These
/// stay, so that no later array has the same address.
class Array {
 public:
  explicit Array(std::size_t bytes) : bytes_(bytes) {
    constexpr std::size_t guard = std::size_t{64} << 10;
    void* const all = mmap(nullptr, bytes + 2 * guard, PROT_NONE, private_flags, -1, 0);
    pages_ = static_cast<char*>(all) + guard;
    if (all == MAP_FAILED || mprotect(pages_, bytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Array() { munmap(pages_, bytes_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  operator double*() const { return reinterpret_cast<double*>(pages_); }  // NOLINT: used as an array is

 private:
  const std::size_t bytes_;
  char* pages_;
};

/// Replaces these pages by other memory without causing an event. Returns false if this system cannot do so.
bool replace_without_a_notice(void* pages, std::size_t bytes) {
  const int segment = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
  if (segment < 0) return false;
  void* const attached = shmat(segment, pages, SHM_REMAP);
  shmctl(segment, IPC_RMID, nullptr);
  EXPECT_EQ(attached, pages);
  EXPECT_EQ(shmdt(pages), 0);
  EXPECT_EQ(mmap(pages, bytes, PROT_READ | PROT_WRITE, private_flags | MAP_FIXED, -1, 0), pages);
  return true;
}

std::uint64_t bytes_of_page_tables() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "VmPTE:") return kibibytes << 10;
  }
  return 0;
}

class ResidencyMemory : public FlavourTest {
 protected:
  /// C = A * B + beta * C of matrices of order n.
  static blas::Call product(double* a, double* b, double* c, std::int64_t n, std::int64_t leading, double beta) {
    return product_call({a, b, c}, n, n, n, beta, {leading, n, leading});
  }

  Outcome run(const blas::Call& call) {
    std::vector<double> expected(call.result().span_bytes() / sizeof(double));
    std::memcpy(expected.data(), call.result().address, call.result().span_bytes());
    blas::Call shadow = call;
    shadow.result().address = expected.data();
    reference::compute(shadow);
    const Outcome outcome = run_call(rig_->policy(), queues_, call);
    if (outcome.error) return outcome;
    for (std::int64_t j = 0; j < call.n; ++j) {
      const std::size_t at = static_cast<std::size_t>(j * call.result().leading_dimension);
      EXPECT_EQ(
          std::memcmp(&expected[at], static_cast<double*>(call.result().address) + at, call.result().column_bytes()), 0)
          << "column " << j;
    }
    return outcome;
  }

  /// The lease of a call whose first panel is computed and released; nullptr if that failed.
  std::unique_ptr<residency::Lease> computed(const blas::Call& call) {
    static const reference::ReferenceRoutine host;
    auto lease = rig_->policy().begin(call, queues_);
    EXPECT_TRUE(lease) << lease.error().message;
    if (!lease) return nullptr;
    const auto panel = (*lease)->acquire(0);
    const bool done = panel && queues_.compute->execute(*panel, host) && (*lease)->release(0);
    EXPECT_TRUE(done);
    return done ? std::move(*lease) : nullptr;
  }

  bool pins() const { return GetParam().device == "pinning" && !GetParam().soft_dirty(); }

  static constexpr std::int64_t n_ = 60;
  static constexpr std::size_t bytes_ = 16 * 4096;  // whole pages for a matrix of order n_
};

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

void fill(double* matrix, std::size_t bytes, double value) {
  std::fill(matrix, matrix + bytes / sizeof(double), value);
}

TEST_P(ResidencyMemory, ColumnsFarApart) {
  START();
  constexpr std::int64_t n = 12, leading = 600064;
  const Array a(n * leading * sizeof(double)), b(bytes_), c(n * leading * sizeof(double));
  fill(b, bytes_, 2);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) a[i + j * leading] = static_cast<double>(i + j);
  for (int round = 0; round < 3; ++round) {
    const Outcome outcome = run(product(a, b, c, n, leading, round % 2));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_LE(outcome.traffic.bytes_to_device, (round == 0 ? 2U : 1U) * 2 * n * 4096 + bytes_);
  }
  // A tall result, which the device may write itself, since it fills enough of its bounds.
  const std::int64_t rows = 300000;
  const blas::Call tall = product_call({a, b, c}, rows, 3, 2, 0, {leading, 2, leading});
  for (int round = 0; round < 3; ++round) {
    const Outcome outcome = run(tall);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
  }
}

TEST_P(ResidencyMemory, VerificationOfColumnsFarApart) {
  RigOptions options;
  options.verify = true;
  START(options);
  constexpr std::int64_t n = 12, leading = 600064;
  const Array a(n * leading * sizeof(double)), b(bytes_), c(n * leading * sizeof(double));
  for (int round = 0; round < 3; ++round) {
    const Outcome outcome = run(product(a, b, c, n, leading, 1));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_EQ(outcome.traffic.stale_pages, 0U);
  }
}

/// Maps a new file.
double* map_file(std::size_t bytes, int flags) {
  const platform::Descriptor file(memfd_create("matrix", MFD_CLOEXEC));
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) std::abort();
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (pages == MAP_FAILED) std::abort();
  return static_cast<double*>(pages);
}

TEST_P(ResidencyMemory, AMatrixThatCannotBeWatchedLeavesTheOthersTheirMirrors) {
  START();
  constexpr std::size_t matrix = n_ * n_ * sizeof(double);
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    double* a = map_file(bytes_, flags);
    const Array b(bytes_), c(bytes_);
    fill(b, bytes_, 2);
    for (int round = 0; round < 6; ++round) {
      fill(a, bytes_, round + 1);
      const Outcome outcome = run(product(a, b, c, n_, n_, 0));
      ASSERT_FALSE(outcome.error) << outcome.error->message;
      EXPECT_EQ(outcome.traffic.copied_because, flags == MAP_SHARED ? "shared memory" : "a mapped file");
      if (round == 0) continue;
      EXPECT_EQ(outcome.traffic.bytes_to_device, matrix);
      EXPECT_EQ(outcome.traffic.bytes_reused, matrix);
    }
    fill(b, bytes_, 3);
    EXPECT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
    munmap(a, bytes_);
  }
}

TEST_P(ResidencyMemory, AResultThatCannotBeWatchedIsWrittenAndReadAgain) {
  START();
  const Array a(bytes_), b(bytes_);
  double* c = map_file(bytes_, MAP_SHARED);
  fill(a, bytes_, 1);
  fill(b, bytes_, 2);
  for (int round = 0; round < 6; ++round) {
    ASSERT_FALSE(run(product(a, b, c, n_, n_, 1)).error);
    c[round] += 5;
    ASSERT_FALSE(run(product(c, b, a, n_, n_, 0.5)).error);
  }
  munmap(c, bytes_);
}

TEST_P(ResidencyMemory, NothingIsMirroredWhereNothingCanBeWatched) {
  START();
  double* a = map_file(bytes_, MAP_SHARED);
  double* b = map_file(bytes_, MAP_SHARED);
  double* c = map_file(bytes_, MAP_SHARED);
  const Outcome outcome = run(product(a, b, c, n_, n_, 0));
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, device::ErrorKind::unsupported);
  EXPECT_EQ(outcome.error->message, "shared memory");
  for (double* const each : {a, b, c}) munmap(each, bytes_);
}

// A static array with initial values, and the zeroed one that begins in its last page.
constexpr std::size_t static_elements = 60 * 60 + 512;
double initialised[static_elements] = {1, 2, 3};
double zeroed[static_elements];

TEST_P(ResidencyMemory, StaticArraysStayOnTheDevice) {
  START();
  if (!rig_->tracker().tracks(platform::MemoryKind::object_data))
    GTEST_SKIP() << "static data cannot be tracked in this way";
  static_assert(n_ * n_ <= static_elements);
  constexpr std::size_t matrix = n_ * n_ * sizeof(double);
  const Array c(bytes_);
  for (int round = 0; round < 6; ++round) {
    const Outcome outcome = run(product(initialised, zeroed, c, n_, n_, 0));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_EQ(outcome.traffic.copied_because, "");
    EXPECT_EQ(outcome.traffic.stale_pages, 0U);
    initialised[round * 100] = zeroed[round] = round;
    if (round <= 2) continue;
    EXPECT_LE(outcome.traffic.bytes_to_device, std::size_t{4 * 4096});
    EXPECT_GE(outcome.traffic.bytes_reused, 2 * matrix - 4 * 4096);
  }
  fill(zeroed, matrix, 5);
  ASSERT_FALSE(run(product(initialised, zeroed, c, n_, n_, 0)).error);
  ASSERT_FALSE(run(product(c, initialised, zeroed, n_, n_, 1)).error) << "a result";
  ASSERT_FALSE(run(product(zeroed, initialised, c, n_, n_, 1)).error);
}

// Like a program's first static array, which begins in the last page of its initialised data.
TEST_P(ResidencyMemory, AMatrixThatBeginsInAFileAndEndsInItsNeighboursPage) {
  START();
  constexpr std::size_t page = 4096;
  const Array memory(4 * bytes_);
  char* const all = reinterpret_cast<char*>(static_cast<double*>(memory));
  const platform::Descriptor file(memfd_create("data", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), page), 0);
  ASSERT_EQ(mmap(all, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file.get(), 0), all);
  constexpr std::size_t matrix = n_ * n_ * sizeof(double);
  auto* const first = reinterpret_cast<double*>(all + 64);
  double* const second = first + n_ * n_;
  double* const third = second + n_ * n_;
  fill(first, matrix, 1);
  fill(second, matrix, 2);
  fill(third, matrix, 3);
  for (int round = 0; round < 8; ++round) {
    const Outcome outcome = run(product(second, third, first, n_, n_, round % 2));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_EQ(outcome.traffic.stale_pages, 0U);
    // The pages that the matrices share have been written.
    EXPECT_LE(outcome.traffic.bytes_to_device, (round > 1 ? round % 2 : 4) * matrix + 2 * page);
    ASSERT_FALSE(run(product(first, third, second, n_, n_, 0)).error);
    second[1] = round;
  }
}

TEST_P(ResidencyMemory, WhatIsReplacedByMemoryThatCannotBeWatchedIsCopied) {
  START();
  const Array a(bytes_), b(bytes_), c(bytes_);
  fill(a, bytes_, 1);
  fill(b, bytes_, 2);
  for (int round = 0; round < 3; ++round) ASSERT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
  ASSERT_EQ(mmap(a, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0), a);
  for (int round = 0; round < 3; ++round) {
    fill(a, bytes_, round);
    ASSERT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
  }
  ASSERT_EQ(mmap(a, bytes_, PROT_READ | PROT_WRITE, private_flags | MAP_FIXED, -1, 0), a);
  for (int round = 0; round < 80; ++round) {
    a[round] = round;
    ASSERT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
  }
}

/// policy.used_once() after the thread that locks pages has released the lock; before, it returns nothing.
std::optional<std::vector<std::uint64_t>> told_used_once(residency::Policy& policy) {
  auto told = policy.used_once();
  for (int i = 0; !told && i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    told = policy.used_once();
  }
  return told;
}

// A tracked matrix is on the device at its second use; a copied one is copied again.
TEST_P(ResidencyMemory, WhatAnEarlierRunUsedOnceIsCopiedAtItsFirstUse) {
  START();
  const auto bytes_of_second_use = [&] {
    const Array a(bytes_), b(bytes_), c(bytes_);
    fill(a, bytes_, 2);
    fill(b, bytes_, 3);
    run(product(a, b, c, n_, n_, 0));
    const auto bytes = run(product(a, b, c, n_, n_, 0)).traffic.bytes_to_device;
    return bytes;
  };
  EXPECT_EQ(bytes_of_second_use(), 0U);
  run(product(Array(bytes_), Array(bytes_), Array(bytes_), n_, n_, 0));
  run(product(Array(bytes_), Array(bytes_), Array(bytes_), n_, n_, 0));  // by its end, the events have been handled
  const auto used_once = told_used_once(rig_->policy());
  ASSERT_TRUE(used_once);
  EXPECT_EQ(used_once->size(), 2U) << "the result is no news";
  rig_.reset();
  START();
  rig_->policy().expect_used_once(*used_once);
  EXPECT_GE(bytes_of_second_use(), 2 * sizeof(double) * n_ * n_);
}

TEST_P(ResidencyMemory, WhatIsUsedOnceTakesNoMirrorHoweverLargeItIs) {
  RigOptions options;
  options.max_copied = 1;
  START(options);
  const auto use_once = [&] {
    const Array a(bytes_), b(bytes_), c(bytes_);
    fill(a, bytes_, 2);
    fill(b, bytes_, 3);
    ASSERT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
  };
  const auto held = [&] { return rig_->device().accountant().held(device::MemoryClient::mirrors).now; };
  use_once();
  use_once();
  EXPECT_GT(held(), 0U);
  const auto used_once = told_used_once(rig_->policy());
  ASSERT_TRUE(used_once);
  rig_.reset();
  START(options);
  rig_->policy().expect_used_once(*used_once);
  for (int i = 0; i < 4; ++i) use_once();
  EXPECT_EQ(held(), 0U);
}

TEST_P(ResidencyMemory, WideGapsAreNotLookedAt) {
  START();
  constexpr std::int64_t leading = std::int64_t{16} << 20;  // 128 MiB
  constexpr std::size_t bytes = n_ * leading * sizeof(double);
  const Array a(bytes), b(bytes_), c(bytes_);
  for (std::int64_t j = 0; j < n_; ++j) a[j * leading] = 1;
  const std::uint64_t before = bytes_of_page_tables();
  blas::Call call = product(a, b, c, n_, n_, 0);
  call.operands()[0].leading_dimension = leading;
  for (int round = 0; round < 3; ++round) {
    const Outcome outcome = run(call);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
  }
  EXPECT_LT(bytes_of_page_tables(), before + (std::uint64_t{1} << 20));
}

TEST_P(ResidencyMemory, WhatWasReplacedWithoutANoticeLosesItsPin) {
  START();
  if (!pins()) GTEST_SKIP() << "nothing is pinned here";
  const Array a(bytes_), b(bytes_), c(bytes_);
  fill(a, bytes_, 1);
  fill(b, bytes_, 2);
  for (int round = 0; round < 4; ++round) ASSERT_FALSE(run(product(a, b, c, n_, n_, 0)).error);
  ASSERT_GT(rig_->unseen_writes(), 0U);
  if (!replace_without_a_notice(c, bytes_)) GTEST_SKIP() << "no System V shared memory here";
  for (int round = 0; round < 4; ++round) {
    const Outcome outcome = run(product(a, b, c, n_, n_, round % 2));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
  }
}

TEST_P(ResidencyMemory, WhatTheCpuRewritesIsReadThroughAPinAsLongAsItIsThere) {
  START();
  if (!pins()) GTEST_SKIP() << "nothing is pinned here";
  constexpr std::int64_t n = 120;
  constexpr std::size_t bytes = 32 * 4096;
  const Array a(bytes), b(bytes), c(bytes);
  const auto rewrite_and_run = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      fill(a, bytes, round + 1);
      fill(b, bytes, 2 * round + 1);
      const Outcome outcome = run(product(a, b, c, n, n, round % 2));
      ASSERT_FALSE(outcome.error) << outcome.error->message;
    }
  };
  rewrite_and_run(3);
  const std::uint64_t before = rig_->unseen_reads();
  rewrite_and_run(8);
  EXPECT_GT(rig_->unseen_reads(), before);
  if (!replace_without_a_notice(a, bytes)) GTEST_SKIP() << "no System V shared memory here";
  rewrite_and_run(8);
}

TEST_P(ResidencyMemory, WhatMadeRoomForOthersComesBackThroughAPin) {
  constexpr std::size_t apart = std::size_t{4} << 20;  // so far apart, no two matrices share a piece of device memory
  RigOptions options;
  options.budget = std::size_t{12} << 20;  // each matrix takes two or four MiB of it
  START(options);
  if (!pins()) GTEST_SKIP() << "nothing is pinned here";
  constexpr std::size_t count = 6;
  const Array memory((count + 2) * apart);
  const auto matrix = [&](std::size_t i) { return memory + i * (apart / sizeof(double)); };
  double* const b = matrix(count);
  double* const c = matrix(count + 1);
  fill(b, bytes_, 2);
  for (std::size_t i = 0; i < count; ++i) fill(matrix(i), bytes_, static_cast<double>(i));
  for (int round = 0; round < 8; ++round)
    for (std::size_t i = 0; i < count; ++i) {
      matrix(i)[round] = 7;
      ASSERT_FALSE(run(product(matrix(i), b, c, n_, n_, 0)).error);
    }
  EXPECT_GT(rig_->unseen_reads(), 0U);
}

TEST_P(ResidencyMemory, PinsEndOnceNothingMayBePinned) {
  START();
  if (!pins()) GTEST_SKIP() << "nothing is pinned here";
  const Array a(bytes_), b(bytes_), c(bytes_);
  fill(a, bytes_, 1);
  fill(b, bytes_, 2);
  const blas::Call call = product(a, b, c, n_, n_, 0);
  for (int round = 0; round < 4; ++round) ASSERT_FALSE(run(call).error);
  ASSERT_GT(rig_->pin_count(), 0U);
  {
    const auto lease = computed(call);
    ASSERT_TRUE(lease);
    rig_->forbid_pins();
    EXPECT_FALSE(rig_->policy().release_pins()) << "the result is being written through a pin";
    EXPECT_GT(rig_->pin_count(), 0U);
    ASSERT_TRUE(lease->finish());
  }
  EXPECT_TRUE(rig_->policy().release_pins());
  EXPECT_EQ(rig_->pin_count(), 0U);
  const std::uint64_t before = rig_->unseen_writes();
  for (int round = 0; round < 4; ++round) ASSERT_FALSE(run(product(a, b, c, n_, n_, round % 2)).error);
  EXPECT_EQ(rig_->unseen_writes(), before);
  EXPECT_EQ(rig_->pin_count(), 0U);
}

sigjmp_buf before_the_write;
void leave(int) {
  siglongjmp(before_the_write, 1);
}

TEST_P(ResidencyMemory, NoDeviceWritesWhatTheProgramMayNot) {
  START();
  if (!pins()) GTEST_SKIP() << "nothing is pinned here";
  const Array a(bytes_), b(bytes_), c(bytes_);
  fill(a, bytes_, 1);
  fill(b, bytes_, 2);
  const blas::Call call = product(a, b, c, n_, n_, 0);
  for (int round = 0; round < 4; ++round) ASSERT_FALSE(run(call).error);
  const std::uint64_t before = rig_->unseen_writes();
  ASSERT_GT(before, 0U);
  fill(c, bytes_, 5);
  ASSERT_EQ(mprotect(c + 4096 / sizeof(double), 4096, PROT_READ), 0);
  {
    const auto lease = computed(call);
    ASSERT_TRUE(lease);
    struct sigaction action = {}, old = {};
    action.sa_handler = leave;
    sigaction(SIGSEGV, &action, &old);
    volatile bool faulted = true;
    if (sigsetjmp(before_the_write, 1) == 0) {
      (void)lease->finish();
      faulted = false;
    }
    sigaction(SIGSEGV, &old, nullptr);
    EXPECT_TRUE(faulted);
    EXPECT_EQ(c[4096 / sizeof(double)], 5);
    EXPECT_EQ(rig_->unseen_writes(), before);
    // Does what a handler does that lets the program go on.
    ASSERT_EQ(mprotect(c, bytes_, PROT_READ | PROT_WRITE), 0);
    ASSERT_TRUE(lease->finish());
  }
  EXPECT_FALSE(run(call).error);
}

class RegisteredMemory : public ResidencyMemory {
 protected:
  void start_registering() {
    RigOptions options;
    options.registrations = registrations_;
    start(options);
  }
  void register_span(double* begin, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    // The driver looks up the pages for writing, which the tracker counts as a write.
    for (std::size_t at = 0; at < bytes; at += sizeof(double)) {
      auto* element = reinterpret_cast<volatile double*>(address + at);
      *element = *element;
    }
    registrations_->spans = {{address, address + bytes}};
  }
  std::shared_ptr<Registrations> registrations_ = std::make_shared<Registrations>();
};

TEST_P(RegisteredMemory, AnywhereInAnOperandIsCopied) {
  start_registering();
  if (testing::Test::IsSkipped()) return;
  constexpr std::int64_t n = 1100;  // so large that not all of it is examined while the lock is held
  constexpr std::size_t bytes = (n * n * sizeof(double) + 8191) / 4096 * 4096;
  const Array a(bytes), b(bytes), c(bytes);
  const blas::Call call = product_call({a, b, c}, n, 2, n);
  const auto refused = [&] {
    const Outcome outcome = run(call);
    return outcome.error && outcome.error->kind == device::ErrorKind::unsupported;
  };
  ASSERT_FALSE(refused());
  ASSERT_FALSE(refused());
  for (const std::size_t at : {std::size_t{0}, std::size_t{1} << 19, static_cast<std::size_t>(n * n) - 512}) {
    register_span(a + at, 4096);
    for (int round = 0; round < 3; ++round) EXPECT_TRUE(refused()) << "registered at " << at << ", round " << round;
    registrations_->spans.clear();
    for (int round = 0; round < 3; ++round) EXPECT_FALSE(refused()) << "no longer registered at " << at;
  }
  // Nothing new is registered, so there are two questions for each operand.
  const int before = registrations_->questions;
  EXPECT_FALSE(refused());
  EXPECT_LE(registrations_->questions - before, 8);
}

std::string name_of(const testing::TestParamInfo<Flavour>& info) {
  return info.param.device + (info.param.soft_dirty() ? "_soft_dirty" : "");
}
const auto flavours = testing::Values(Flavour{"first-use", "simulated"}, Flavour{"first-use", "pinning"},
                                      Flavour{"first-use", "simulated", tracking::TrackerKind::soft_dirty},
                                      Flavour{"first-use", "pinning", tracking::TrackerKind::soft_dirty});
INSTANTIATE_TEST_SUITE_P(, ResidencyMemory, flavours, name_of);
INSTANTIATE_TEST_SUITE_P(, RegisteredMemory, testing::Values(Flavour{"first-use", "simulated"}), name_of);

}  // namespace
}  // namespace blastoff::test
