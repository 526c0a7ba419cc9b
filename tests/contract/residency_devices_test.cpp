// One, two and three devices over the same memory. All of them compute with the latest version of each byte, whether
// the program or another device has written it.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "blocks/engine.h"
#include "mapped_memory.h"
#include "platform/malloc_arenas.h"
#include "product_call.h"
#include "residency/mirror/pins.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

constexpr std::int64_t rows = 96;
constexpr std::int64_t columns = 90;
constexpr std::size_t elements = rows * columns;

/// A block of the matrix that all calls share. A column is not a multiple of a page, so blocks share pages.
struct Block {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
};

blas::Call product(double* matrix, const Block& a, const Block& b, const Block& c, double beta) {
  const auto at = [&](const Block& block) { return matrix + block.row + block.column * rows; };
  return product_call({at(a), at(b), at(c)}, c.rows, c.columns, a.columns, beta, {rows, rows, rows});
}

/// The kind of device, and the number of devices.
using Devices = std::tuple<std::string, int>;

class ResidencyDevices : public testing::TestWithParam<Devices> {
 protected:
  /// `fault`: a fault of the last device. Each device has less memory than the one before.
  void start(const std::string& fault = "") {
    auto tracker = tracking::open_page_tracker(tracking::TrackerKind::uffd);
    if (!tracker) GTEST_SKIP() << tracker.error();
    const auto& [kind, count] = GetParam();
    const auto places = count > 1 || !alone_ ? ledger::Ledger::Places::several : ledger::Ledger::Places::one;
    const auto results = policy_ == "stay" ? ledger::Ledger::Results::may_stay : ledger::Ledger::Results::go_home;
    shared_.ledger = std::make_shared<ledger::Ledger>(std::move(*tracker), places, results);
    for (int i = 0; i < count; ++i) {
      RigOptions options;
      options.simulated_memory >>= i;
      options.budget >>= 2 * i;
      options.panels = {.general = 4096, .triangular = 4096, .solve_width = 8};
      options.seed = static_cast<unsigned>(i) + 1;
      options.max_copied = max_copied_;
      if (i + 1 == count) options.fault = fault;
      std::string reason;
      rigs_.push_back(Rig::create({policy_, kind}, options, reason, &shared_));
      if (!rigs_.back()) GTEST_SKIP() << reason;
      queue_pool_.push_back(rigs_.back()->queues());
    }
    shadow_.resize(elements);
    fill({0, 0, rows, columns});
  }

  double* matrix() { return reinterpret_cast<double*>(memory_.page(0)); }

  std::size_t below(std::size_t bound) { return random_() % bound; }
  template <class Choices>
  auto one_of(const Choices& choices) {
    return choices[below(choices.size())];
  }

  /// Fills a block with small integers, as the program would.
  void fill(const Block& block) {
    for (std::int64_t j = block.column; j < block.column + block.columns; ++j)
      for (std::int64_t i = block.row; i < block.row + block.rows; ++i) {
        const auto at = static_cast<std::size_t>(i + j * rows);
        matrix()[at] = shadow_[at] = static_cast<double>(below(5)) - 2;
      }
  }

  /// Makes the call on a device; returns false if it fails. In that case the CPU computes the result, since a lost
  /// device may have left it half written.
  bool call(std::size_t device, const Block& a, const Block& b, const Block& c, double beta) {
    reference::compute(product(shadow_.data(), a, b, c, beta));
    const Outcome outcome = run_call(rigs_[device]->policy(), queue_pool_[device], product(matrix(), a, b, c, beta));
    traffic_ = outcome.traffic;
    if (outcome.error)
      for (std::int64_t j = c.column; j < c.column + c.columns; ++j)
        std::copy_n(&shadow_[static_cast<std::size_t>(c.row + j * rows)], c.rows, matrix() + c.row + j * rows);
    return !outcome.error;
  }

  /// Each device makes one of these operations at the same time, as parts of one call. Returns the traffic of all.
  residency::Traffic make_together(const std::vector<operation::Operation>& operations) {
    std::vector<std::span<const operation::Operation>> parts;
    for (const auto& operation : operations) parts.emplace_back(&operation, 1);
    residency::Sharing sharing(parts);
    static const reference::ReferenceRoutine host;
    std::vector<Outcome> outcomes(parts.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parts.size(); ++i)
      threads.emplace_back([&, i] {
        outcomes[i] = run_operation(rigs_[i]->policy(), queue_pool_[i], operations[i], host, {&sharing, i, 0});
        sharing.leave(i);
      });
    for (std::thread& thread : threads) thread.join();
    residency::Traffic sum;
    for (const Outcome& outcome : outcomes) {
      EXPECT_FALSE(outcome.error);
      sum.bytes_between_devices += outcome.traffic.bytes_between_devices;
      sum.bytes_rewritten += outcome.traffic.bytes_rewritten;
    }
    return sum;
  }

  void make_random_calls();
  void make_blocks();
  void use_block();
  void expect_right() { ASSERT_EQ(std::memcmp(matrix(), shadow_.data(), elements * sizeof(double)), 0); }

  Memory memory_{elements * sizeof(double) / platform::page_size() + 1};
  std::vector<double> shadow_;
  std::mt19937 random_;
  SharedByDevices shared_;
  std::vector<std::unique_ptr<Rig>> rigs_;
  std::vector<device::CallQueues> queue_pool_;
  residency::Traffic traffic_;  ///< traffic of the last call
  std::optional<std::size_t> max_copied_;
  std::string policy_ = "first-use";
  bool alone_ = false;  ///< the ledger does not expect other places than devices
  std::unique_ptr<blocks::Engine> engine_;
  std::vector<std::unique_ptr<blocks::Block>> blocks_;  ///< over parts of the matrix; none: they are not used
};

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

// Results become operands, some in turn on each device. Blocks are used repeatedly, so that they are pinned. Blocks
// with all rows fill pages, which devices take from each other.
constexpr std::array<Block, 9> left = {{{0, 0, 60, 8},
                                        {20, 5, 60, 12},
                                        {0, 0, rows, 25},
                                        {0, 30, 60, 9},
                                        {31, 33, 60, 7},
                                        {0, 30, rows, 25},
                                        {0, 60, 60, 8},
                                        {17, 70, 60, 12},
                                        {0, 60, rows, 25}}};

void ResidencyDevices::make_random_calls() {
  std::uint64_t borrowed = 0;
  for (int step = 0; step < 600; ++step) {
    SCOPED_TRACE(step);
    const Block a = one_of(left);
    const std::int64_t of_a = a.column / 30 * 30;
    const std::int64_t of_c = (of_a + 30 * (1 + static_cast<std::int64_t>(below(2)))) % 90;
    const std::int64_t of_b = 90 - of_a - of_c;
    const Block b = {static_cast<std::int64_t>(below(2)) * 40, of_b + 3, a.columns, 20};
    const Block c = {a.rows == rows ? 0 : static_cast<std::int64_t>(below(3)) * 18,
                     of_c + 2 + static_cast<std::int64_t>(below(2)) * 4, a.rows, b.columns};
    switch (below(blocks_.empty() ? 8 : 11)) {
      case 8:
      case 9:
      case 10: use_block(); break;
      case 0: fill(a); break;
      case 1: fill({b.row, b.column, b.rows, 1}); break;
      case 2:
        if (below(4) == 0) {
          const std::size_t page = below(memory_.span().bytes() / platform::page_size());
          madvise(memory_.page(page), platform::page_size(), MADV_DONTNEED);
          const std::size_t first = page * platform::page_size() / sizeof(double);
          const std::size_t last = std::min(elements, first + platform::page_size() / sizeof(double));
          if (first < last) std::fill(&shadow_[first], shadow_.data() + last, 0.0);
        }
        break;
      default: ASSERT_TRUE(call(below(rigs_.size()), a, b, c, below(2) == 0 ? 0.0 : 1.0));
    }
    borrowed += std::exchange(traffic_, {}).bytes_between_devices;
    expect_right();
    if (HasFatalFailure()) return;
    for (const double value : shadow_)
      if (std::abs(value) > 1e9) {
        fill({0, 0, rows, columns});
        break;
      }
  }
  EXPECT_EQ(borrowed > 0, rigs_.size() > 1);
}

/// They begin and end within pages, and fill some.
constexpr std::array<std::pair<std::size_t, std::size_t>, 3> in_blocks = {
    {{5, 2900}, {2900, 4000}, {4100, elements - 3}}};

void ResidencyDevices::make_blocks() {
  blocks::Setup setup;
  for (const auto& rig : rigs_) setup.devices.push_back(&rig->device());
  setup.ledger = shared_.ledger.get();
  setup.unlock = [this](platform::Span span) { shared_.pins->end_excepted(span); };
  engine_ = std::make_unique<blocks::Engine>(std::move(setup));
  shared_.pins->except([this](platform::Span span) { return engine_->is_under_block(span); });
  for (const auto& [first, last] : in_blocks) {
    auto watched = engine_->watch_memory(matrix() + first, (last - first) * sizeof(double));
    ASSERT_TRUE(watched) << watched.error().message;
    EXPECT_TRUE((*watched)->exact());
    blocks_.push_back(std::make_unique<blocks::Block>(*engine_, (last - first) * sizeof(double), std::move(*watched)));
  }
}

/// Somewhere, and then the host has the newest version again.
void ResidencyDevices::use_block() {
  const std::size_t number = below(blocks_.size());
  const auto [first, last] = in_blocks[number];
  blocks::Block& block = *blocks_[number];
  const auto access = static_cast<blocks::Access>(below(3));
  const int place = static_cast<int>(below(rigs_.size() + 1)) - 1;
  const auto address = block.acquire(place, access, nullptr);
  ASSERT_TRUE(address) << address.error().message;
  auto* const there = reinterpret_cast<double*>(static_cast<std::uintptr_t>(*address));  // of a simulated device
  if (blocks::reads(access)) {
    ASSERT_EQ(std::memcmp(there, &shadow_[first], block.bytes()), 0) << "block " << number << " at " << place;
  }
  if (blocks::writes(access)) {
    const std::size_t count = last - first;
    const std::size_t from = access == blocks::Access::write ? 0 : below(count);
    for (std::size_t i = from; i < count; ++i) there[i] = shadow_[first + i] = static_cast<double>(below(5)) - 2;
  }
  ASSERT_TRUE(block.release(place, nullptr));
  const auto home = block.acquire(blocks::host_place, blocks::Access::read, nullptr);
  ASSERT_TRUE(home) << home.error().message;
  ASSERT_TRUE(block.release(blocks::host_place, nullptr));
}

// Results that return directly leave no trace in the page table. Under blocks none do, whatever was locked before.
TEST_P(ResidencyDevices, ShareTheirMemoryWithBlocks) {
  alone_ = true;
  START();
  make_blocks();
  make_random_calls();
}

TEST_P(ResidencyDevices, CopyOfBlocksWhatCallsWrote) {
  alone_ = true;
  START();
  make_blocks();
  const auto copied = [&](std::size_t number) {
    const std::uint64_t before = engine_->counters().bytes_to_device;
    EXPECT_TRUE(blocks_[number]->acquire(0, blocks::Access::read, nullptr));
    EXPECT_TRUE(blocks_[number]->release(0, nullptr));
    return engine_->counters().bytes_to_device - before;
  };
  const Block a = {0, 0, 96, 10};
  const Block b = {0, 15, 10, 4};
  const Block c = {0, 70, 96, 4};  // on four pages of the last block
  ASSERT_TRUE(call(0, a, b, c, 0));
  for (const std::size_t number : {0U, 1U, 2U}) EXPECT_EQ(copied(number), blocks_[number]->bytes());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(call(static_cast<std::size_t>(round) % rigs_.size(), a, b, c, 0));
    EXPECT_EQ(copied(0), 0U);
    EXPECT_EQ(copied(1), 0U);
    const std::uint64_t last = copied(2);
    EXPECT_GT(last, 0U);
    EXPECT_LE(last, 4U * 4096);
    expect_right();
  }
}

TEST_P(ResidencyDevices, GiveBlocksTheResultsThatStay) {
  alone_ = true;
  policy_ = "stay";
  START();
  make_blocks();
  ledger::Place watcher(*shared_.ledger);
  if (!watcher.may_leave()) GTEST_SKIP() << "this kernel does not let pages be filled for its own accesses";
  if (platform::in_malloc_arena(memory_.span())) GTEST_SKIP() << "the matrix looks like a part of malloc's memory";
  const Block a = {0, 0, 96, 2};
  const Block c = {0, 2, 96, 86};
  std::vector<double> b(2 * 86);  // and its transpose
  const auto with_b = [&](blas::Call call, std::int64_t leading_dimension) {
    call.operands()[1].address = b.data();
    call.operands()[1].leading_dimension = leading_dimension;
    return call;
  };
  const auto outer = [&](double* numbers) { return with_b(product(numbers, a, {0, 0, 2, 86}, c, 0), 2); };
  const auto inner = [&](double* numbers) { return with_b(product(numbers, c, {0, 0, 86, 2}, a, 0), 86); };
  bool stayed = false;
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    fill(a);
    std::ranges::generate(b, [&] { return static_cast<double>(below(5)) - 2; });
    const std::size_t device = below(rigs_.size());
    for (const auto& call : {std::function<blas::Call(double*)>(outer), std::function<blas::Call(double*)>(inner)}) {
      reference::compute(call(shadow_.data()));
      ASSERT_FALSE(run_call(rigs_[device]->policy(), queue_pool_[device], call(matrix())).error);
      stayed = stayed || watcher.any_left(memory_.span());
    }
    for (int uses = 0; uses < 3; ++uses) use_block();
    expect_right();
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(stayed) << "every result went home: nothing was tried";
}

TEST_P(ResidencyDevices, SeeEveryWriteWhoeverMadeIt) {
  START();
  make_random_calls();
}

TEST_P(ResidencyDevices, SeeWhatCallsWritePastTheMirrors) {
  policy_ = "past-mirrors";
  START();
  make_random_calls();
}

// The page table does not show that the device itself writes a result into pinned memory.
TEST_P(ResidencyDevices, HearOfResultsThatReturnDirectly) {
  START();
  const Block a = {0, 0, 60, 8};
  const Block b = {0, 31, 8, 20};
  const Block c = {0, 60, 60, 20};
  const Block d = {10, 33, 60, 20};
  for (int round = 0; round < 6; ++round) {
    fill(b);
    const std::size_t writer = static_cast<std::size_t>(round) % rigs_.size();
    ASSERT_TRUE(call(writer, a, b, c, 0));
    for (std::size_t reader = 0; reader < rigs_.size(); ++reader) {
      ASSERT_TRUE(call(reader, {c.row, c.column, c.rows, 8}, b, d, 0));
      expect_right();
      if (HasFatalFailure()) return;
    }
  }
  if (std::get<0>(GetParam()) == "pinning") {
    EXPECT_GT(rigs_.front()->unseen_writes(), 0U) << "no result returned directly: nothing was tried";
  }
}

// The kernel writes a page for the program without using the page table. Registering the page leaves a trace there, and
// the first device that looks at the page takes that trace.
TEST_P(ResidencyDevices, HearOfAWriterThatAnotherDeviceHasMet) {
  if (!can_pin()) GTEST_SKIP() << "this kernel registers no buffers";
  START();
  const auto buffer = RegisteredBuffer::create(memory_.page(1), platform::page_size());
  ASSERT_TRUE(buffer);
  const std::size_t count = platform::page_size() / sizeof(double);
  for (std::size_t device = 0; device < rigs_.size(); ++device) {
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(round);
      const auto fresh = shadow_.begin() + static_cast<std::ptrdiff_t>(count);
      std::generate_n(fresh, count, [&] { return static_cast<double>(below(5)) - 2; });
      ASSERT_TRUE(buffer->write(memory_.page(1), &*fresh, platform::page_size()));
      call(device, {0, 0, 96, 30}, {0, 32, 30, 20}, {0, 62, 96, 20}, 0);
      ASSERT_NO_FATAL_FAILURE(expect_right()) << "on device " << device;
    }
  }
}

// a lies on six pages, and b on four others, none of which it fills.
TEST_P(ResidencyDevices, TakeFromEachOtherWhatOneOfThemHolds) {
  START();
  const Block a = {0, 0, 96, 30};
  const Block b = {0, 32, 30, 20};
  const Block c = {0, 62, 96, 20};
  constexpr std::size_t page = 4096;
  ASSERT_TRUE(call(0, a, b, c, 0));
  EXPECT_EQ(traffic_.bytes_between_devices, 0U);
  for (std::size_t device = 1; device < rigs_.size(); ++device) {
    ASSERT_TRUE(call(device, a, b, c, 0));
    EXPECT_EQ(traffic_.bytes_between_devices, 10 * page);
    EXPECT_EQ(traffic_.bytes_to_device, 0U);
    expect_right();
  }
  fill({0, 10, 1, 1});  // writes one page, so that no device has it any more
  for (std::size_t device = 0; device < rigs_.size(); ++device) {
    ASSERT_TRUE(call(device, a, b, c, 0));
    expect_right();
    if (device == 0) {
      EXPECT_EQ(traffic_.bytes_between_devices, 0U) << "no device may lend what the program has written since";
    }
  }
  if (rigs_.size() > 1) {
    EXPECT_EQ(traffic_.bytes_between_devices, page) << "the first device has brought it";
  }
}

// a lies on six pages and crosses the link only once.
TEST_P(ResidencyDevices, BringSlicesOfWhatAllOfThemRead) {
  START();
  const Block a = {0, 0, 96, 30};
  std::vector<operation::Operation> parts;
  for (std::size_t i = 0; i < rigs_.size(); ++i) {
    const auto first = static_cast<std::int64_t>(i) * 8;
    const Block b = {0, 32 + first, 30, 8};
    const Block c = {0, 62 + first, 96, 8};
    parts.emplace_back(product(matrix(), a, b, c, 0));
    reference::compute(product(shadow_.data(), a, b, c, 0));
  }
  EXPECT_EQ(make_together(parts).bytes_between_devices, (rigs_.size() - 1) * 6 * 4096);
  expect_right();
}

// A device that has a page only in part cannot lend it, since the rest of the page may be stale.
TEST_P(ResidencyDevices, BringFromTheHostPagesThatTheyHoldInPart) {
  START();
  if (rigs_.size() == 1) return;
  const Block upper = {0, 0, 48, 30};
  const Block lower = {48, 0, 48, 30};
  const Block b = {0, 32, 30, 20};
  const Block c = {0, 62, 48, 20};
  ASSERT_TRUE(call(0, lower, b, c, 0));
  ASSERT_TRUE(call(1, upper, b, c, 0));
  ASSERT_TRUE(call(1, lower, b, c, 0));
  EXPECT_EQ(traffic_.bytes_between_devices, 0U);
  EXPECT_GE(traffic_.bytes_to_device, 6U * 4096);
  expect_right();
}

TEST_P(ResidencyDevices, KeepWhatTheyLendUntilTheCallEnds) {
  START();
  if (rigs_.size() == 1) return;
  const Block a = {0, 0, 96, 30};
  const Block b = {0, 32, 30, 20};
  const Block c = {0, 62, 96, 20};
  ASSERT_TRUE(call(0, a, b, c, 0));
  const auto bytes_left = [&] {
    rigs_[0]->policy().release_operands();
    return rigs_[0]->device().accountant().held(device::MemoryClient::mirrors).now;
  };
  {
    auto lease = rigs_[1]->policy().begin(product(matrix(), a, b, c, 0), queue_pool_[1]);
    ASSERT_TRUE(lease) << lease.error().message;
    EXPECT_GT((*lease)->traffic().bytes_between_devices, 0U);
    EXPECT_GT(bytes_left(), 0U);
  }
  EXPECT_EQ(bytes_left(), 0U);
}

// The first copy from each other device is a trial.
TEST_P(ResidencyDevices, BringFromTheHostWhatAnotherDeviceDoesNotGive) {
  if (std::get<0>(GetParam()) != "simulated") return;  // other devices report the fault later
  for (const bool trial : {true, false}) {
    const std::string fault = "between:" + std::to_string(trial ? 1 : std::get<1>(GetParam())) + ":unsupported";
    rigs_.clear();
    queue_pool_.clear();
    START(fault);
    for (std::size_t device = 0; device < rigs_.size(); ++device) {
      ASSERT_TRUE(call(device, {0, 0, 96, 30}, {0, 32, 30, 20}, {0, 62, 96, 20}, 0)) << fault;
      expect_right();
    }
    const bool another = rigs_.size() > 2 && trial;
    EXPECT_EQ(traffic_.bytes_between_devices > 0, another) << fault;
  }
}

TEST_P(ResidencyDevices, GoOnWhenOneIsLostWhileItTakesFromAnother) {
  START("between:" + std::to_string(std::max(std::get<1>(GetParam()), 2)));
  const std::size_t last = rigs_.size() - 1;
  for (std::size_t device = 0; device < rigs_.size(); ++device)
    EXPECT_EQ(call(device, {0, 0, 96, 30}, {0, 32, 30, 20}, {0, 62, 96, 20}, 1), device < last || last == 0);
  expect_right();
  ASSERT_TRUE(call(0, {0, 0, 96, 30}, {0, 32, 30, 20}, {0, 62, 96, 20}, 1));
  expect_right();
}

TEST_P(ResidencyDevices, GoOnWhenOneIsLost) {
  for (const char* operation : {"execute", "to-host", "to-device"}) {
    for (const int number : {2, 5}) {
      rigs_.clear();
      queue_pool_.clear();
      START(std::string(operation) + ":" + std::to_string(number));
      std::size_t working = rigs_.size();
      for (int step = 0; step < 60; ++step) {
        SCOPED_TRACE(step);
        if (step % 5 == 0) fill(one_of(left));
        const Block a = left[below(2)];
        if (working > 0 && !call(below(working), a, {0, 32, a.columns, 20}, {2, 62, a.rows, 20}, 1)) --working;
        expect_right();
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(working, rigs_.size() - 1) << operation << ":" << number << " did not happen";
    }
  }
}

// Each thread has a device, and its own rows in columns that it shares with the other threads.
TEST_P(ResidencyDevices, ServeThreadsWhoseBlocksMeetOnPages) {
  START();
  constexpr std::int64_t band = 30;
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < rigs_.size(); ++who)
    threads.emplace_back([&, who] {
      std::mt19937 random(static_cast<unsigned>(who));
      device::CallQueues queues = rigs_[who]->queues();
      const auto top = static_cast<std::int64_t>(who) * band;
      const Block b = {0, 31, 8, 20};
      std::vector<double> own(shadow_);
      for (int step = 0; step < 200; ++step) {
        const Block a = {top, 0, band, 8};
        const Block c = {top, 60, band, 20};
        if (random() % 2 == 0)
          for (std::int64_t j = 0; j < 8; ++j) {
            const auto at = static_cast<std::size_t>(top + static_cast<std::int64_t>(random() % band) + j * rows);
            matrix()[at] = own[at] = static_cast<double>(random() % 5);
          }
        const double beta = random() % 2 == 0 ? 1 : 0;
        reference::compute(product(own.data(), a, b, c, beta));
        const Outcome outcome = run_call(rigs_[who]->policy(), queues, product(matrix(), a, b, c, beta));
        ASSERT_FALSE(outcome.error) << outcome.error->message;
        for (std::int64_t j = 60; j < 80; ++j) {
          const auto at = static_cast<std::size_t>(top + j * rows);
          ASSERT_EQ(std::memcmp(matrix() + at, &own[at], band * sizeof(double)), 0) << "step " << step;
        }
      }
    });
  for (auto& thread : threads) thread.join();
}

/// A large matrix, which is not tracked because the program rewrites it, between two small ones that share its first
/// and its last page.
class ResidencyDevicesRewritten : public ResidencyDevices {
 protected:
  static constexpr std::int64_t m = 256;
  static constexpr std::int64_t k = 40;
  static constexpr std::int64_t small = 10;
  static constexpr std::size_t before = small * small;
  static constexpr std::size_t behind = before + m * k;
  static constexpr std::size_t right = 12 * 1024;
  static constexpr std::size_t result = 16 * 1024;
  static constexpr std::size_t all = 32 * 1024;
  static constexpr std::int64_t width = 8;  ///< number of columns that each device computes

  void begin() {
    max_copied_ = 0;
    start();
    own_shadow_.resize(all);
    write(0, result);
  }

  double* own() { return reinterpret_cast<double*>(own_memory_.page(0)); }
  double* shadow() { return own_shadow_.data(); }

  void write(std::size_t first, std::size_t last) {
    for (std::size_t at = first; at < last; ++at) own()[at] = shadow()[at] = static_cast<double>(below(5)) - 2;
  }

  std::vector<operation::Operation> parts() {
    std::vector<operation::Operation> parts;
    for (std::size_t i = 0; i < rigs_.size(); ++i) {
      const auto of = [&](double* base) {
        return product_call({base + before, base + right + i * k * width, base + result + i * m * width}, m, width, k);
      };
      parts.emplace_back(of(own()));
      reference::compute(of(shadow()));
    }
    return parts;
  }

  /// A device multiplies the small matrices.
  void multiply_neighbours(std::size_t device) {
    const auto of = [&](double* base) {
      return product_call({base, base + behind, base + result + 8 * 1024}, small, small, small);
    };
    reference::compute(of(shadow()));
    ASSERT_FALSE(run_call(rigs_[device]->policy(), queue_pool_[device], of(own())).error);
  }

  /// What others may take from the device as long as a split call lasts.
  std::vector<ledger::PagesOnDevice> steady_at(std::size_t device, platform::Span pages) {
    const std::array<std::size_t, 1> holders = {device};
    return ledger::Place(*shared_.ledger).who_has({pages}, holders, {}).runs();
  }
  /// Until so many devices have brought slices of the matrix.
  void await_slices(const operation::Operand& matrix, std::size_t count) {
    for (std::size_t device = 0; device < count; ++device)
      while (steady_at(device, platform::outward_to_pages(residency::bounds(matrix))).empty())
        std::this_thread::yield();
  }

  void expect_own_right() { ASSERT_EQ(std::memcmp(own(), shadow(), all * sizeof(double)), 0); }

  Memory own_memory_{all * sizeof(double) / 4096};
  std::vector<double> own_shadow_;
};

// No device keeps the matrix, since later writes would not be noticed.
TEST_P(ResidencyDevicesRewritten, BringSlicesOfIt) {
  begin();
  if (testing::Test::IsSkipped()) return;
  // Devices exchange all 21 pages of the matrix while it is tracked, and later only the 19 pages that it fills.
  const std::uint64_t all_pages = (rigs_.size() - 1) * 21 * 4096;
  const std::uint64_t filled_pages = (rigs_.size() - 1) * 19 * 4096;
  std::uint64_t rewritten = 0;
  for (int step = 0; step < 12; ++step) {
    SCOPED_TRACE(step);
    write(before, behind);
    const residency::Traffic traffic = make_together(parts());
    rewritten += traffic.bytes_rewritten;
    EXPECT_EQ(traffic.bytes_between_devices, step == 0 ? all_pages : filled_pages);
    for (std::size_t device = 0; device < rigs_.size(); ++device)
      EXPECT_TRUE(steady_at(device, own_memory_.span()).empty()) << "after the call";
    expect_own_right();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(rewritten, 0U) << "it was tracked";
}

TEST_P(ResidencyDevicesRewritten, KeepWhatElseLiesOnItsPages) {
  begin();
  if (testing::Test::IsSkipped()) return;
  std::uint64_t between = 0;
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE(step);
    write(before, behind);
    if (below(2) == 0) write(0, before);
    if (below(2) == 0) write(behind, behind + before);
    if (below(2) == 0) multiply_neighbours(below(rigs_.size()));
    between += make_together(parts()).bytes_between_devices;
    multiply_neighbours(below(rigs_.size()));
    expect_own_right();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(between > 0, rigs_.size() > 1);
}

// While the other devices wait, the program rewrites a small matrix, and the last device reads it.
TEST_P(ResidencyDevicesRewritten, TakeNothingOlderThanWhatTheyHold) {
  begin();
  if (testing::Test::IsSkipped() || rigs_.size() == 1) return;
  for (int step = 0; step < 3; ++step) {  // the policy learns that the matrix is rewritten
    write(before, behind);
    make_together(parts());
  }
  write(before, behind);
  const std::vector<operation::Operation> made = parts();
  std::vector<std::span<const operation::Operation>> spans;
  for (const auto& operation : made) spans.emplace_back(&operation, 1);
  residency::Sharing sharing(spans);
  const std::size_t last = made.size() - 1;
  const auto make = [&](std::size_t part) {
    static const reference::ReferenceRoutine host;
    const Outcome outcome =
        run_operation(rigs_[part]->policy(), queue_pool_[part], made[part], host, {&sharing, part, 0});
    sharing.leave(part);
    EXPECT_FALSE(outcome.error);
  };
  std::vector<std::thread> others;
  for (std::size_t part = 0; part < last; ++part) others.emplace_back(make, part);
  await_slices(made[last].operands()[0], last);
  write(0, before);
  multiply_neighbours(last);
  make(last);
  for (std::thread& other : others) other.join();
  multiply_neighbours(last);
  expect_own_right();
}

// Two rewritten matrices share a page. A call on the last device computes with one of them, in panels. Meanwhile a part
// of another call on that device takes the other matrix from devices that had uploaded the page before the program
// rewrote the first matrix.
TEST_P(ResidencyDevicesRewritten, OverwriteNothingThatACallInFlightReads) {
  begin();
  if (testing::Test::IsSkipped() || rigs_.size() == 1) return;
  constexpr std::size_t first = 100, second = first + m * k, factors = 24 * 1024, results = 28 * 1024;
  Memory memory(56 * 1024 * sizeof(double) / 4096);
  auto* const base = reinterpret_cast<double*>(memory.page(0));
  std::vector<double> expected(56 * 1024);
  const auto write_anew = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) base[at] = expected[at] = static_cast<double>(below(5)) - 2;
  };
  const auto of_first = [&](double* at) {
    return product_call({at + first, at + factors + 3000, at + results + 12 * 1024}, m, width, k);
  };
  const auto of_second = [&](double* at, std::size_t i) {
    return product_call({at + second, at + factors + i * k * width, at + results + i * m * width}, m, width, k);
  };
  const auto parts_of_second = [&] {
    std::vector<operation::Operation> made;
    for (std::size_t i = 0; i < rigs_.size(); ++i) {
      made.emplace_back(of_second(base, i));
      reference::compute(of_second(expected.data(), i));
    }
    return made;
  };
  const std::size_t last = rigs_.size() - 1;
  write_anew(0, results);
  for (int step = 0; step < 4; ++step) {  // the policy learns that both matrices are rewritten
    write_anew(first, second);
    reference::compute(of_first(expected.data()));
    ASSERT_FALSE(run_call(rigs_[last]->policy(), queue_pool_[last], of_first(base)).error);
    write_anew(second, second + m * k);
    make_together(parts_of_second());
  }
  write_anew(second, second + m * k);
  const std::vector<operation::Operation> made = parts_of_second();
  std::vector<std::span<const operation::Operation>> spans;
  for (const auto& operation : made) spans.emplace_back(&operation, 1);
  residency::Sharing sharing(spans);
  static const reference::ReferenceRoutine host;
  const auto make = [&](std::size_t part) {
    const Outcome outcome =
        run_operation(rigs_[part]->policy(), queue_pool_[part], made[part], host, {&sharing, part, 0});
    sharing.leave(part);
    EXPECT_FALSE(outcome.error);
    if (part == last) {
      EXPECT_GT(outcome.traffic.bytes_between_devices, 0U);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t part = 0; part < last; ++part) others.emplace_back(make, part);
  await_slices(made[last].operands()[0], last);
  write_anew(first, second);
  reference::compute(of_first(expected.data()));
  device::CallQueues queues = rigs_[last]->queues();
  const Outcome outcome = run_call(rigs_[last]->policy(), queues, of_first(base), [&] { make(last); });
  ASSERT_FALSE(outcome.error);
  ASSERT_GT(outcome.panels.size(), 1U);
  for (std::thread& other : others) other.join();
  ASSERT_EQ(std::memcmp(base, expected.data(), expected.size() * sizeof(double)), 0);
}

// The first device has a small matrix that it has computed, and of its page nothing else that counts. Meanwhile a call
// on the last one computes, in panels, with what else lies on the page.
TEST_P(ResidencyDevicesRewritten, TakeNothingThatACallInFlightReadsAnew) {
  begin();
  if (testing::Test::IsSkipped() || rigs_.size() == 1) return;
  const std::size_t last = rigs_.size() - 1;
  const auto large = [](double* base) {
    return product_call({base + before, base + right, base + result}, m, width, k);
  };
  const auto made = [](double* base) {
    return product_call({base + result + 12 * 1024, base + result + 13 * 1024, base}, small, small, small);
  };
  const auto used = [](double* base) {
    return product_call({base, base + result + 13 * 1024, base + result + 8 * 1024}, small, small, small);
  };
  const auto make = [&](std::size_t device, const auto& call) {
    reference::compute(call(shadow()));
    ASSERT_FALSE(run_call(rigs_[device]->policy(), queue_pool_[device], call(own())).error);
  };
  write(result, all);
  for (int step = 0; step < 4; ++step) {  // the policy learns that the large matrix is rewritten
    write(before, behind);
    make(last, large);
  }
  for (int step = 0; step < 6; ++step) {  // and that the small one is reused
    make(0, made);
    make(0, used);
    make(0, used);
  }
  write(before, behind);
  const std::uint64_t unseen = rigs_.front()->unseen_writes();
  make(0, made);
  if (std::get<0>(GetParam()) == "pinning") {
    EXPECT_GT(rigs_.front()->unseen_writes(), unseen) << "it did not return directly: nothing is tried";
  }
  reference::compute(large(shadow()));
  device::CallQueues queues = rigs_[last]->queues();
  const Outcome outcome = run_call(rigs_[last]->policy(), queues, large(own()), [&] { make(last, used); });
  ASSERT_FALSE(outcome.error);
  ASSERT_GT(outcome.panels.size(), 1U);
  expect_own_right();
}

std::string name_of(const testing::TestParamInfo<Devices>& test) {
  return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param));
}

const auto devices = testing::Combine(testing::Values("simulated", "delayed", "pinning"), testing::Values(1, 2, 3));

INSTANTIATE_TEST_SUITE_P(, ResidencyDevicesRewritten, devices, name_of);

INSTANTIATE_TEST_SUITE_P(, ResidencyDevices, devices, name_of);

}  // namespace
}  // namespace blastoff::test
