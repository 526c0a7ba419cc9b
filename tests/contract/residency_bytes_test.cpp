// A page is current only for the bytes that were used: a device may write its other bytes unseen, if it got their
// addresses before the page was last protected.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>

#include "product_call.h"
#include "residency/footprint.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::Routine;
using platform::Span;

/// Doubles in their own mapping. The pages beside it keep the kernel from joining it to another mapping.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : pages_(bytes) {
    begin_ = reinterpret_cast<double*>(pages_.begin());
    std::memset(begin_, 0, pages_.bytes());
  }

  double* at(std::size_t element) { return begin_ + element; }
  std::size_t elements() const { return pages_.bytes() / sizeof(double); }
  void fill(std::mt19937& engine) {
    for (std::size_t i = 0; i < elements(); ++i) begin_[i] = static_cast<double>(engine() % 5) - 2;
  }

 private:
  GuardedPages pages_;
  double* begin_ = nullptr;
};

/// A matrix of doubles.
struct Place {
  double* first;
  std::int64_t rows, columns, leading_dimension;
};

class ResidencyBytes : public FlavourTest {
 protected:
  void SetUp() override {
    RigOptions options;
    options.budget = std::size_t{64} << 20;
    start(options);
    for (std::int64_t i = 0; i < largest_; ++i) *identity_.at(static_cast<std::size_t>(i * largest_ + i)) = 1;
  }

  /// Uses the matrix as the first operand of a product with the identity. Returns the uploaded bytes.
  std::uint64_t use(const Place& a) { return run(product(a, Routine::dgemm)); }
  std::uint64_t use_lower_triangle(const Place& a) { return run(product(a, Routine::dsymm)); }

  blas::Call product(const Place& a, Routine routine) {
    blas::Call call = options_of(routine, a.rows, a.columns, a.columns, 0);
    call.uplo = blas::Uplo::lower;
    const std::array<void*, 3> addresses{a.first, identity_.at(0), result_.at(0)};
    const std::array<std::int64_t, 3> leading{a.leading_dimension, largest_, largest_};
    blas::shape_operands(call, addresses, leading);
    return call;
  }

  /// Makes the call and compares the result with the CPU's. Returns the uploaded bytes.
  std::uint64_t run(const blas::Call& call) {
    const operation::Operand& result = call.result();
    std::vector<double> expected(result.span_bytes() / sizeof(double));
    std::memcpy(expected.data(), result.address, result.span_bytes());
    blas::Call shadow = call;
    shadow.result().address = expected.data();
    reference::compute(shadow);
    const Outcome outcome = run_call(rig_->policy(), queues_, call);
    EXPECT_FALSE(outcome.error) << outcome.error->message;
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < result.columns; ++j) {
      const std::size_t at = static_cast<std::size_t>(j * result.leading_dimension);
      wrong += std::memcmp(&expected[at], static_cast<double*>(result.address) + at, result.column_bytes()) != 0;
    }
    EXPECT_EQ(wrong, 0) << "columns are wrong";
    return outcome.traffic.bytes_to_device;
  }

  /// C := A A^T + C in the lower triangle. `meanwhile` runs before the result is copied back.
  void update(const Place& a, const Place& c, const std::function<void()>& meanwhile) {
    for (std::int64_t i = 0; i < a.rows * a.columns; ++i) a.first[i] = static_cast<double>(i % 5) - 2;
    blas::Call call = options_of(Routine::dsyrk, c.rows, c.columns, a.columns, 1);
    call.uplo = blas::Uplo::lower;
    blas::shape_operands(call, std::array<void*, 2>{a.first, c.first},
                         std::array<std::int64_t, 2>{a.leading_dimension, c.leading_dimension});
    std::vector<double> expected(call.result().span_bytes() / sizeof(double));
    std::memcpy(expected.data(), c.first, call.result().span_bytes());
    blas::Call shadow = call;
    shadow.result().address = expected.data();
    reference::compute(shadow);
    static const reference::ReferenceRoutine host;
    const auto run = [&]() -> device::Status {
      auto lease = rig_->policy().begin(call, queues_);
      if (!lease) return tl::unexpected(lease.error());
      for (std::size_t i = 0; i < (*lease)->panels().size(); ++i) {
        const auto panel = (*lease)->acquire(i);
        if (!panel) return tl::unexpected(panel.error());
        if (auto executed = queues_.compute->execute(*panel, host); !executed) return executed;
        if (i == 0) meanwhile();
        if (auto sent = (*lease)->release(i); !sent) return sent;
      }
      return (*lease)->finish();
    };
    const auto done = run();
    ASSERT_TRUE(done) << done.error().message;
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < c.columns; ++j)
      for (std::int64_t i = j; i < c.rows; ++i) {
        const auto at = static_cast<std::size_t>(j * c.leading_dimension + i);
        wrong += expected[at] != c.first[at] ? 1 : 0;
      }
    EXPECT_EQ(wrong, 0) << "elements are wrong";
  }

  static long page_faults() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  }

  bool is_written(Span pages) {
    std::vector<Span> written;
    return rig_->tracker().scan(pages, false, written) != tracking::PageTracker::Scan::ok || !written.empty();
  }
  /// Writes like a device that got the address before the page was last protected.
  void write_unseen(double* to, double value) {
    const auto begin = reinterpret_cast<std::uintptr_t>(to);
    const Span page = platform::outward_to_pages({begin, begin + sizeof value});
    const bool written_before = is_written(page);
    *to = value;
    std::vector<Span> forgotten;
    if (!written_before) (void)rig_->tracker().scan(page, true, forgotten);
  }

  static constexpr std::int64_t largest_ = 200;
  const std::size_t page_ = platform::page_size();
  Arena identity_{largest_ * largest_ * sizeof(double)};
  Arena result_{largest_ * largest_ * sizeof(double)};
};

TEST_P(ResidencyBytes, ANeighbourOnTheSamePageIsAMatterOfItsOwn) {
  Arena arena(64 * page_);
  const Place d{arena.at(256), 40, 40, 40};
  const Place a{arena.at(256 + 1600), 40, 40, 40};
  use(d);
  d.first[1599] = 7;  // stands for a device that gets the page for writing
  use(a);
  write_unseen(d.first + 1599, 8);
  EXPECT_GT(use(d), 0U);
  EXPECT_EQ(use(a), 0U);
  EXPECT_EQ(use(d), 0U);
}

TEST_P(ResidencyBytes, RowsOfOneArrayAreMattersOfTheirOwn) {
  Arena arena(64 * page_);
  const Place upper{arena.at(3), 20, 50, 50};
  const Place lower{arena.at(23), 20, 50, 50};
  const Place all{arena.at(3), 50, 50, 50};
  use(upper);
  write_unseen(lower.first + 50 * 17, 5);
  EXPECT_GT(use(lower), 0U);
  write_unseen(arena.at(3 + 45 + 50 * 30), 6);
  EXPECT_GT(use(all), 0U);
  for (const Place& place : {upper, lower, all}) EXPECT_EQ(use(place), 0U);
}

TEST_P(ResidencyBytes, TheOtherTriangleIsAMatterOfItsOwn) {
  Arena arena(128 * page_);
  const Place matrix{arena.at(0), 120, 120, 120};
  use_lower_triangle(matrix);
  write_unseen(matrix.first + 3 + 120 * 115, 5);
  use_lower_triangle(matrix);
  EXPECT_GT(use(matrix), 0U);
  EXPECT_EQ(use_lower_triangle(matrix), 0U);
  EXPECT_EQ(use(matrix), 0U);
}

TEST_P(ResidencyBytes, PartsOfAMatrixThatWasUsedAreReused) {
  Arena arena(2048 * page_);
  for (const std::int64_t leading : {140, 157, 1400}) {
    const Place whole{arena.at(7), 140, 140, leading};
    use(whole);
    for (std::int64_t n = 139; n > 0; n -= 13)
      EXPECT_EQ(use({whole.first + (140 - n) * (leading + 1), n, n, leading}), 0U)
          << "order " << n << " of " << leading;
    EXPECT_EQ(use(whole), 0U);
    use_lower_triangle(whole);
    EXPECT_EQ(use_lower_triangle({whole.first + 20 * (leading + 1), 90, 90, leading}), 0U);
  }
}

TEST_P(ResidencyBytes, TilesSideBySideAreReused) {
  Arena arena(1024 * page_);
  for (const std::int64_t leading : {160, 175, 800}) {
    const auto tile = [&](int row, int column) {
      return Place{arena.at(5) + row * 40 + column * 40 * leading, 40, 40, leading};
    };
    std::uint64_t first = 0;
    for (int i = 0; i < 16; ++i) first += use(tile(i % 4, i / 4));
    // A page is uploaded at most once for each tile on it; the identity is uploaded too.
    const std::uint64_t pages_of_a_column_of_tiles =
        40 * static_cast<std::uint64_t>(leading) * sizeof(double) / page_ + 2;
    const std::uint64_t identity = identity_.elements() * sizeof(double);
    EXPECT_LE(first, 16 * pages_of_a_column_of_tiles * page_ + identity);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 16; ++i) EXPECT_EQ(use(tile(i % 4, i / 4)), 0U) << "tile " << i << " of " << leading;
    }
  }
}

TEST_P(ResidencyBytes, AWriteAnywhereOnAPageForgetsWhatWasUsedOfIt) {
  Arena arena(16 * page_);
  const Place a{arena.at(0), 16, 8, 16};
  const Place d{arena.at(128), 16, 8, 16};
  use(a);
  use(d);
  *arena.at(300) = 1;
  EXPECT_EQ(use(a), page_);
  write_unseen(d.first, 9);
  EXPECT_EQ(use(d), page_);
  ASSERT_EQ(madvise(arena.at(0), page_, MADV_DONTNEED), 0);
  EXPECT_EQ(use(a), page_);
  write_unseen(d.first, 10);
  EXPECT_EQ(use(d), page_);
}

TEST_P(ResidencyBytes, AResultThatComesHomeUnseenIsCurrentToItsLastByte) {
  if (GetParam().device != "pinning" || GetParam().soft_dirty()) GTEST_SKIP() << "results are written by the CPU";
  Arena arena(64 * page_);
  const Place c{arena.at(100), 60, 50, 70};
  blas::Call call = product({arena.at(8192), 60, 50, 60}, Routine::dgemm);
  call.result().address = c.first;
  call.result().leading_dimension = c.leading_dimension;
  run(call);
  use(c);  // the result is read, so later results of this kind stay on the device
  for (int round = 0; round < 3; ++round) run(call);
  EXPECT_EQ(use(c), 0U);
  write_unseen(c.first + 65, 3);  // an element between its columns
  EXPECT_EQ(use(c), 0U);
  EXPECT_GT(use({c.first, 70, 49, 70}), 0U);
}

/// The triangle is the result of a symmetric update. The CPU copies it back, or the device writes it.
TEST_P(ResidencyBytes, ATriangleThatComesHomeIsCurrent) {
  if (GetParam().soft_dirty()) GTEST_SKIP() << "what the CPU copies home counts as written";
  for (const std::int64_t n : {65, 200}) {
    Arena arena(200 * page_);
    const Place c{arena.at(10), n, n, n + 3};
    const Place a{arena.at(90 * page_ / sizeof(double)), n, 4, n};
    use_lower_triangle(c);  // uploads the other operand
    for (int round = 0; round < 3; ++round) {
      update(a, c, [] {});
      EXPECT_EQ(use_lower_triangle(c), 0U);
    }
    c.first[2] = 5;
    EXPECT_EQ(use_lower_triangle(c), page_);
    c.first[(n - 1) * c.leading_dimension] = 7;  // an element of the other triangle, on a page with this triangle
    EXPECT_LE(use_lower_triangle(c), page_);
    use(c);
  }
}

/// As in a factorization: many columns with short gaps, each longer than a page.
TEST_P(ResidencyBytes, APanelThatComesHomeIsCurrent) {
  if (GetParam().soft_dirty()) GTEST_SKIP() << "what the CPU copies home counts as written";
  constexpr std::int64_t rows = 1100, columns = 70;
  Arena arena(400 * page_);
  const Place c{arena.at(10), rows, columns, rows + 3};
  const Place a{arena.at(180 * page_ / sizeof(double)), rows, columns, rows};
  for (std::int64_t i = 0; i < rows * columns; ++i) a.first[i] = static_cast<double>(i % 5) - 2;
  const blas::Call call = product_call({a.first, identity_.at(0), c.first}, rows, columns, columns, 1,
                                       {a.leading_dimension, largest_, c.leading_dimension});
  run(call);
  run(call);  // a device that pins memory brings the result once more at its second use
  for (int round = 0; round < 3; ++round) EXPECT_EQ(run(call), 0U) << round;
  c.first[2] = 5;
  EXPECT_EQ(run(call), page_);
  c.first[rows + 1] = 7;  // between two columns
  EXPECT_LE(run(call), page_);
}

TEST_P(ResidencyBytes, WhatIsWrittenBesideATriangleMeanwhileIsSeen) {
  constexpr std::int64_t n = 150;
  Arena arena(200 * page_);
  const Place c{arena.at(10), n, n, n};
  const Place a{arena.at(90 * page_ / sizeof(double)), n, 4, n};
  for (int round = 0; round < 4; ++round) {
    use(c);
    update(a, c, [&] {
      for (std::int64_t j = 1; j < n; ++j)
        c.first[j * c.leading_dimension + j / 2] = static_cast<double>(round + j % 9);
    });
    use(c);
    use_lower_triangle(c);
  }
}

TEST_P(ResidencyBytes, NothingUnseenIsOverlooked) {
  Arena arena(520 * page_);  // more than a chunk
  std::mt19937 engine(17);
  const auto random = [&](std::size_t below) { return engine() % below; };
  std::vector<Place> places;
  for (const std::size_t around : {std::size_t{0}, 511 * page_ / sizeof(double)}) {
    for (int i = 0; i < 7; ++i) {
      const auto rows = static_cast<std::int64_t>(5 + random(30));
      const auto columns = static_cast<std::int64_t>(5 + random(20));
      const std::int64_t leading = rows + (i % 2 == 0 ? 0 : static_cast<std::int64_t>(random(60)));
      places.push_back({arena.at(around + random(1500)), rows, columns, leading});
    }
  }
  struct Pending {
    double* to;
    double value;
  };
  std::vector<Pending> pending;
  const auto busy = [&](const operation::Operand& operand) {
    return std::any_of(pending.begin(), pending.end(), [&](const Pending& write) {
      const auto at = reinterpret_cast<std::uintptr_t>(write.to);
      return residency::touches(operand, {at, at + sizeof(double)});
    });
  };
  arena.fill(engine);
  for (int step = 0; step < 3000 && !HasFailure(); ++step) {
    const Place& a = places[random(places.size())];
    double* element = a.first + random(static_cast<std::size_t>(a.rows)) +
                      random(static_cast<std::size_t>(a.columns)) * static_cast<std::size_t>(a.leading_dimension);
    switch (random(8)) {
      case 0: *element = static_cast<double>(step % 7); break;
      case 1:  // a device gets the address for writing: the page counts as written now, and changes later
        *const_cast<volatile double*>(element) = *element;
        pending.push_back({element, static_cast<double>(step % 11)});
        break;
      case 2:
      case 3:
        if (pending.empty()) break;
        write_unseen(pending.front().to, pending.front().value);
        pending.erase(pending.begin());
        break;
      case 4: {
        blas::Call call = product({a.first, a.rows, a.rows, a.rows}, Routine::dsymm);
        if (a.leading_dimension == a.rows && a.columns >= a.rows && !busy(call.operands()[0])) run(call);
        break;
      }
      case 5: {
        const Place& c = places[random(places.size())];
        blas::Call call = product({arena.at(100000), c.rows, c.columns, c.rows}, Routine::dgemm);
        call.result().address = c.first;
        call.result().leading_dimension = c.leading_dimension;
        if (!busy(call.result())) run(call);
        break;
      }
      default:
        if (!busy(product(a, Routine::dgemm).operands()[0])) use(a);
    }
    if (step % 500 == 499 && madvise(arena.at(0), page_, MADV_DONTNEED) != 0) FAIL();
  }
}

/// As in a factorization, the CPU rewrites results of the device, and the next call works on a part of them.
TEST_P(ResidencyBytes, PartsThatTheCpuRewritesAreNotProtectedAnyMore) {
  if (GetParam().soft_dirty()) GTEST_SKIP() << "what the CPU copies home counts as written";
  constexpr std::int64_t n = 200;
  Arena arena(n * n * sizeof(double) + page_);
  Arena narrow(n * 4 * sizeof(double));
  for (std::int64_t step = 0; step < 20; ++step) {
    const Place c{arena.at(static_cast<std::size_t>(step * 4 * (n + 1))), n - 4 * step, n - 4 * step, n};
    for (std::int64_t j = 0; j < c.columns; ++j)
      for (std::int64_t i = 0; i < c.rows; ++i) c.first[i + j * n] = static_cast<double>((i + j + step) % 7);
    update({narrow.at(0), c.rows, 4, c.rows}, c, [] {});
    if (step < 10) continue;
    const auto first = reinterpret_cast<std::uintptr_t>(c.first);
    const Span within = platform::inward_to_pages({first, first + static_cast<std::size_t>(c.columns * n) * 8 - n * 8});
    std::vector<Span> written;
    ASSERT_EQ(rig_->tracker().scan(within, false, written), tracking::PageTracker::Scan::ok);
    EXPECT_EQ(written, std::vector<Span>{within}) << "a page fault for each page that the CPU writes, in step " << step;
  }
}

/// As in a factorization, the CPU rewrites the first columns of a result, and the next result is the rest of it.
TEST_P(ResidencyBytes, ResultsOfWhichTheCpuRewritesAPartAreNotProtectedAnyMore) {
  if (GetParam().soft_dirty()) GTEST_SKIP() << "what the CPU copies home counts as written";
  constexpr std::int64_t n = 1400;
  constexpr std::int64_t width = 240;
  constexpr long few_pages = 16;
  Arena arena(n * n * sizeof(double));
  Arena rows(n * width * sizeof(double));
  for (int step = 0; (step + 1) * width < n; ++step) {
    double* const corner = arena.at(static_cast<std::size_t>(step * width * (n + 1)));
    const std::int64_t rest = n - (step + 1) * width;
    const long before = page_faults();
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t i = 0; i < rest + width; ++i) corner[i + j * n] = static_cast<double>((i + j + step) % 3);
    const long faults = page_faults() - before;
    EXPECT_TRUE(step < 2 || faults < few_pages) << faults << " in step " << step;
    run(product_call({corner + width, rows.at(0), corner + width * (n + 1)}, rest, rest, width, 1, {n, width, n}));
  }
}

/// As in a factorization whose first rows come home: Blastoff writes them itself, to pages that were protected for the
/// result before. The first time, they were protected for nobody else.
TEST_P(ResidencyBytes, ResultsWhoseFirstRowsComeHomeAreNotProtectedAnyMore) {
  if (GetParam().soft_dirty()) GTEST_SKIP() << "what the CPU copies home counts as written";
  constexpr std::int64_t n = 1024;
  constexpr std::int64_t width = 64;
  Arena matrix(n * n * sizeof(double));
  Arena left(n * width * sizeof(double));
  Arena rows(n * width * sizeof(double));
  std::mt19937 engine;
  for (Arena* arena : {&matrix, &left, &rows}) arena->fill(engine);
  const auto block = [&](std::int64_t row, std::int64_t column) {
    return matrix.at(static_cast<std::size_t>(row + column * n));
  };
  const auto middle = reinterpret_cast<std::uintptr_t>(block(n / 2, n / 2));
  for (std::int64_t at = 0; at < 3 * width; at += width) {
    const std::int64_t next = at + width;
    const std::int64_t rest = n - next;
    run(product_call({left.at(0), rows.at(0), block(at, next)}, width, rest, width, 1, {n, width, n}));
    run(product_call({left.at(0), block(at, next), block(next, next)}, rest, rest, width, 1, {n, n, n}));
    EXPECT_EQ(is_written(platform::outward_to_pages({middle, middle + 1})), at > 0) << "in row " << at;
  }
}

/// Copies go on while the device computes. No operand of a large call is uploaded as a whole before.
TEST_P(ResidencyBytes, ALargeCallThatCopiesItsOperandsGoesPanelByPanel) {
  if (GetParam().device != "simulated" || GetParam().soft_dirty()) GTEST_SKIP() << "takes long";
  constexpr std::int64_t n = 1450;
  Arena arena(n * n * sizeof(double));
  Arena narrow(n * sizeof(double));
  const auto bytes = static_cast<std::uint64_t>(n * n) * sizeof(double);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < n * n; ++i)
      *arena.at(i) = static_cast<double>((i + static_cast<std::size_t>(round)) % 7);
    const blas::Call call = product_call({narrow.at(0), narrow.at(0), arena.at(0)}, n, n, 1, 1);
    const Outcome outcome = run_call(rig_->policy(), queues_, call);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_GE(outcome.traffic.bytes_to_device, bytes);
    EXPECT_EQ(outcome.panels.size() > 1, round > 0) << "round " << round;
    EXPECT_EQ(outcome.traffic.bytes_rewritten > 0, round > 0) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(, ResidencyBytes,
                         testing::Values(Flavour{"first-use", "simulated"}, Flavour{"first-use", "delayed"},
                                         Flavour{"first-use", "pinning"},
                                         Flavour{"first-use", "simulated", tracking::TrackerKind::soft_dirty}),
                         [](const auto& test) {
                           return test.param.device + (test.param.soft_dirty() ? "_soft_dirty" : "");
                         });

}  // namespace
}  // namespace blastoff::test
