// Which places matrices get in the memory that the ranks of a grid share, and which of them are known from earlier
// calls.
#include "scalapack/place_book.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace blastoff::scalapack {
namespace {

constexpr std::size_t page = 4096;

/// A call of pdtrmm: a triangle A and a matrix B, of 8 pages each if the order is 64.
class Product {
 public:
  Product(double* a, double* b, int order = 64) : n_(order) {
    for (const void* const word :
         {static_cast<const void*>(&letters_[0]), static_cast<const void*>(&letters_[1]),
          static_cast<const void*>(&letters_[2]), static_cast<const void*>(&letters_[3]), static_cast<const void*>(&n_),
          static_cast<const void*>(&n_), static_cast<const void*>(&alpha_), static_cast<const void*>(a),
          static_cast<const void*>(&one_), static_cast<const void*>(&one_), static_cast<const void*>(&layout),
          static_cast<const void*>(b), static_cast<const void*>(&one_), static_cast<const void*>(&one_),
          static_cast<const void*>(&layout)})
      words_.push_back(const_cast<void*>(word));
    words_.resize(row(Routine::pdtrmm).words);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  Descriptor layout{.rows = 64, .columns = 64, .row_block = 8, .column_block = 8, .leading_dimension = 64};

  FoundPlaces find(PlaceBook& book, std::size_t pages) {
    const Call call(Routine::pdtrmm, words_.data());
    const Places sizes(call);
    EXPECT_EQ(sizes.bytes(), 2 * sizeof(double) * static_cast<std::size_t>(n_ * n_));
    FoundPlaces found = book.find(call, sizes, pages * page);
    Places places = sizes;
    places.move(found.begins);
    EXPECT_LE(places.end(), pages * page);
    return found;
  }

 private:
  std::array<char, 4> letters_{'L', 'L', 'N', 'N'};
  int n_;
  int one_ = 1;
  double alpha_ = 1;
  std::vector<void*> words_;
};

std::array<double, 4> memory;

TEST(PlaceBook, FindsMatricesWhereTheyWere) {
  PlaceBook book;
  Product first(&memory[0], &memory[1]);
  const FoundPlaces places = first.find(book, 32);
  EXPECT_EQ(places.held, 0U);
  EXPECT_NE(places.begins.matrices[0], places.begins.matrices[1]);
  const FoundPlaces again = first.find(book, 32);
  EXPECT_EQ(again.held, 3U);
  EXPECT_EQ(again.begins, places.begins);
  const FoundPlaces exchanged = Product(&memory[1], &memory[0]).find(book, 32);
  EXPECT_EQ(exchanged.held, 3U);
  EXPECT_EQ(exchanged.begins.matrices[0], places.begins.matrices[1]);
  const FoundPlaces with_another = Product(&memory[0], &memory[2]).find(book, 32);
  EXPECT_EQ(with_another.held, 1U);
  EXPECT_EQ(first.find(book, 32).held, 3U) << "there was room for three";
}

TEST(PlaceBook, KnowsNoMatrixWithAnotherDescriptor) {
  PlaceBook book;
  Product product(&memory[0], &memory[1]);
  product.find(book, 32);
  product.layout.first_row = 1;
  EXPECT_EQ(product.find(book, 32).held, 0U);
}

TEST(PlaceBook, GivesTheRoomOfWhatWasUsedLeastRecently) {
  PlaceBook book;
  Product(&memory[0], &memory[1]).find(book, 24);
  Product(&memory[0], &memory[2]).find(book, 24);
  EXPECT_EQ(Product(&memory[0], &memory[3]).find(book, 24).held, 1U);
  EXPECT_EQ(Product(&memory[2], &memory[3]).find(book, 24).held, 3U);
  EXPECT_EQ(Product(&memory[2], &memory[1]).find(book, 24).held, 1U);
}

TEST(PlaceBook, BeginsAnewWhereThereIsNoRoomInOnePiece) {
  PlaceBook book;
  Product(&memory[0], &memory[1], 32).find(book, 32);  // four pages
  Product(&memory[2], &memory[3]).find(book, 32);      // behind them
  const FoundPlaces places = Product(&memory[2], &memory[0]).find(book, 16);
  EXPECT_EQ(places.held, 0U);
  EXPECT_EQ(places.begins.matrices[0], 0U);
}

TEST(PlaceBook, HasAMatrixThatIsUsedTwiceInTwoPlaces) {
  PlaceBook book;
  Product square(&memory[0], &memory[0]);
  const FoundPlaces places = square.find(book, 32);
  EXPECT_NE(places.begins.matrices[0], places.begins.matrices[1]);
  EXPECT_EQ(square.find(book, 32).held, 3U);
}

}  // namespace
}  // namespace blastoff::scalapack
