// The check, made by one process, whether a distributed call may be gathered.
#include "scalapack/call.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace blastoff::scalapack {
namespace {

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
  bool is_right_here() {
    const std::vector<void*> all = words();
    return Call(Routine::pdsyevd, all.data()).is_right_here(grid);
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
  };
  for (std::size_t i = 0; i < changes.size(); ++i) EXPECT_FALSE(may_be_gathered_with(changes[i])) << i;
}

TEST(MayBeGathered, AsksEachProcessForItsLeadingDimension) {
  Standard call;
  EXPECT_TRUE(call.is_right_here());
  call.a.leading_dimension = 155;
  EXPECT_FALSE(call.is_right_here());
  EXPECT_TRUE(call.may_be_gathered()) << "which the others do not know";
}

/// A call of pdgemm on a 2 x 2 grid: C of 300 x 200, the inner dimension is 100.
struct Product {
  Grid grid{.context = 5, .rows = 2, .columns = 2, .row = 0, .column = 1};
  std::array<char, 2> letters{'N', 't'};
  std::array<int, 3> sizes{300, 200, 100};
  std::array<double, 2> numbers{1, 0};
  std::array<int, 2> place{5, 9};
  Descriptor layout{.context = 5,
                    .rows = 400,
                    .columns = 410,
                    .row_block = 7,
                    .column_block = 64,
                    .first_row = 1,
                    .leading_dimension = 300};
  std::array<double, 1> memory{};
  std::vector<void*> words{};

  Call call() {
    words = {&letters[0], &letters[1], &sizes[0], &sizes[1], &sizes[2], &numbers[0]};
    for (int matrix = 0; matrix < 2; ++matrix)
      for (void* const word : {static_cast<void*>(&memory), static_cast<void*>(&place[0]),
                               static_cast<void*>(&place[1]), static_cast<void*>(&layout)})
        words.push_back(word);
    words.push_back(&numbers[1]);
    for (void* const word : {static_cast<void*>(&memory), static_cast<void*>(&place[0]), static_cast<void*>(&place[1]),
                             static_cast<void*>(&layout)})
      words.push_back(word);
    words.resize(row(Routine::pdgemm).words);
    return {Routine::pdgemm, words.data()};
  }
};

TEST(Product, HasSubMatricesInAnyLayout) {
  Product product;
  const Call call = product.call();
  EXPECT_TRUE(call.may_be_gathered(product.grid));
  const DistributedMatrix b = call.matrix(call.rules()[1]);
  EXPECT_EQ(b.rows, 200) << "B is transposed";
  EXPECT_EQ(b.columns, 100);
  EXPECT_EQ(b.row, 4);
  EXPECT_EQ(call.matrix(call.rules()[2]).intent, operation::Intent::write) << "beta is 0";
  product.numbers[1] = 0.5;
  EXPECT_EQ(call.matrix(call.rules()[2]).intent, operation::Intent::update);
  product.place[1] = 212;
  EXPECT_FALSE(call.may_be_gathered(product.grid)) << "C ends beyond the matrix";
}

TEST(Failure, IsWhatInfoSays) {
  Standard call;
  const std::vector<void*> words = call.words();
  EXPECT_FALSE(Call(Routine::pdsyevd, words.data()).failed());
  call.info = 3;
  EXPECT_TRUE(Call(Routine::pdsyevd, words.data()).failed());
  EXPECT_FALSE(Product().call().failed()) << "it has no info";
}

TEST(Product, IsWorthAskingIfItIsLargeAndDeep) {
  Product product;
  const Call call = product.call();
  product.sizes = {256, 256, 256};
  EXPECT_TRUE(call.is_worth_asking());
  product.sizes = {255, 256, 256};
  EXPECT_FALSE(call.is_worth_asking()) << "too small";
  product.sizes = {8000, 8000, 32};
  EXPECT_FALSE(call.is_worth_asking()) << "a flat product takes as long as moving C";
}

TEST(Product, HasTheFingerprintOfItsClassWithoutNumbers) {
  Product product;
  const Call call = product.call();
  const auto [whole, of_class] = std::pair(call.fingerprint(), call.fingerprint(false));
  product.numbers[0] = 2;
  EXPECT_NE(call.fingerprint(), whole);
  EXPECT_EQ(call.fingerprint(false), of_class);
  product.layout.leading_dimension = 320;
  EXPECT_EQ(call.fingerprint(false), of_class);
  product.place[0] = 6;
  EXPECT_NE(call.fingerprint(false), of_class);
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
