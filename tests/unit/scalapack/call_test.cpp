// The check, made by one process, whether a distributed call may be gathered.
#include "scalapack/call.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace blastoff::scalapack {
namespace {

TEST(OwnShare, AddsUpToTheWhole) {
  for (const int count : {0, 1, 7, 300, 1000})
    for (const int block : {1, 24, 300})
      for (const int processes : {1, 3, 4})
        for (int first = 0; first < processes; ++first) {
          std::int64_t sum = 0;
          for (int process = 0; process < processes; ++process)
            sum += own_share(count, block, process, first, processes);
          EXPECT_EQ(sum, count) << block << " " << processes << " " << first;
        }
  EXPECT_EQ(own_share(10, 3, 0, 0, 2), 6);
  EXPECT_EQ(own_share(10, 3, 1, 0, 2), 4);
  EXPECT_EQ(own_share(10, 3, 1, 1, 2), 6);
}

/// A call of pdsyevd of order 300 on a 2 x 2 grid; this is the grid's second process.
struct Standard {
  Grid grid{.context = 5, .rows = 2, .columns = 2, .row = 0, .column = 1};
  std::array<char, 2> letters{'V', 'l'};
  int n = 300;
  int row = 1;
  int column = 1;
  int z_row = 1;
  Descriptor a{
      .context = 5, .rows = 300, .columns = 300, .row_block = 24, .column_block = 24, .leading_dimension = 156};
  Descriptor z = a;
  int work_length = 10;
  int integer_work_length = 10;
  std::array<double, 16> memory{};
  int integer_work = 0;
  int info = 0;

  std::vector<void*> words() {
    return {&letters[0],
            &letters[1],
            &n,
            &memory[0],
            &row,
            &column,
            &a,
            &memory[0],
            &memory[1],
            &z_row,
            &column,
            &z,
            &memory[2],
            &work_length,
            &integer_work,
            &integer_work_length,
            &info,
            reinterpret_cast<void*>(1),
            reinterpret_cast<void*>(1)};
  }
  bool may_be_gathered() {
    const std::vector<void*> all = words();
    return Call(Routine::pdsyevd, all.data()).may_be_gathered(grid);
  }
  std::uint32_t fingerprint() {
    const std::vector<void*> all = words();
    return Call(Routine::pdsyevd, all.data()).fingerprint();
  }
};

template <class Change>
bool may_be_gathered_with(Change change) {
  Standard call;
  change(call);
  return call.may_be_gathered();
}

TEST(MayBeGathered, WholeMatricesOfOneLayout) {
  EXPECT_TRUE(Standard().may_be_gathered());
  EXPECT_TRUE(may_be_gathered_with([](Standard& call) { call.letters = {'v', 'U'}; }));
  EXPECT_TRUE(may_be_gathered_with([](Standard& call) { call.a.first_row = call.z.first_row = 1; }));
}

TEST(MayBeGathered, NothingElse) {
  const std::vector<void (*)(Standard&)> changes{
      [](Standard& call) { call.letters[0] = 'N'; },  // pdsyevd refuses this
      [](Standard& call) { call.letters[1] = 'X'; },
      [](Standard& call) { call.n = 299; },  // a part of larger matrices
      [](Standard& call) { call.n = call.a.rows = call.a.columns = call.z.rows = call.z.columns = 255; },
      [](Standard& call) { call.n = call.a.rows = call.a.columns = call.z.rows = call.z.columns = 40000; },
      [](Standard& call) { call.row = 25; },
      [](Standard& call) { call.z_row = 25; },
      [](Standard& call) { call.a.type = 501; },
      [](Standard& call) { call.z.context = 6; },
      [](Standard& call) { call.a.columns = 301; },
      [](Standard& call) { call.a.column_block = 12; },
      [](Standard& call) { call.z.row_block = call.z.column_block = 12; },
      [](Standard& call) { call.z.first_column = 1; },
      [](Standard& call) { call.a.first_row = call.z.first_row = 2; },
      [](Standard& call) { call.a.leading_dimension = 155; },
      [](Standard& call) { call.z.leading_dimension = 20000000; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_FALSE(may_be_gathered_with(changes[i])) << i;
}

TEST(Fingerprint, IsOfWhatAllProcessesShare) {
  Standard one;
  Standard other;
  other.grid.column = 0;
  other.a.leading_dimension = 200;
  other.a.context = other.z.context = 2;
  other.work_length = 1000;
  EXPECT_EQ(one.fingerprint(), other.fingerprint());
  other.letters[1] = 'U';
  EXPECT_NE(one.fingerprint(), other.fingerprint());
}

TEST(WorkSpace, IsWhatTheOriginalAsksFor) {
  Standard call;
  const std::vector<void*> words = call.words();
  const Call parsed(Routine::pdsyevd, words.data());
  EXPECT_FALSE(parsed.asks_for_work_size());
  void (*const original)(const char*, const char*, const int*, double*, const int*, const int*, const Descriptor*,
                         double*, double*, const int*, const int*, const Descriptor*, double*, const int*, int*,
                         const int*, int*) = [](const char*, const char*, const int*, double*, const int*, const int*,
                                                const Descriptor*, double*, double*, const int*, const int*,
                                                const Descriptor*, double* work, const int* length, int* integer_work,
                                                const int* integer_length, int* info) {
    *work = 10;
    *integer_work = 8;
    *info = *length == -1 && *integer_length == -1 ? 0 : 1;
  };
  EXPECT_EQ(parsed.query(reinterpret_cast<void*>(original)), 0);
  EXPECT_TRUE(parsed.has_work_space());
  call.integer_work_length = 7;
  EXPECT_FALSE(parsed.has_work_space());
  call.integer_work_length = -1;
  EXPECT_TRUE(parsed.asks_for_work_size());
}

}  // namespace
}  // namespace blastoff::scalapack
