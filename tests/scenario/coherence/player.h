// One thread of the program under test: takes random steps and checks each.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "blas/call.h"
#include "fftw_plans.h"
#include "matrix.h"
#include "random.h"

namespace coherence {

struct Options {
  std::uint64_t seed = 1;
  std::int64_t steps = 1000;  ///< steps of each thread
  std::int64_t threads = 4;
  std::int64_t max_size = 64;  ///< largest size of an operation; matrices are larger
  bool forks = true;
};

/// A matrix that every thread reads. Calls hold the lock shared; a thread that changes the matrix holds it exclusively.
struct CommonMatrix {
  std::shared_mutex lock;
  std::unique_ptr<Matrix> matrix;
};

struct Common {
  std::array<CommonMatrix, 4> read_by_all;  ///< one of each element type
  std::array<char*, 4> written_by_all{};    ///< stripes of rows, one for each thread, which share pages
  std::int64_t stripe_rows = 0;
  std::int64_t stripe_columns = 0;
};

class Dense;

/// A factorization of a matrix A, and right-hand sides B if it is used for solving.
struct Factorization {
  enum class Kind : std::uint8_t { cholesky, cholesky_at_once, lu, qr, eigenvectors };

  Kind kind = Kind::cholesky;
  char uplo = 'U';
  char transpose = 'N';
  std::array<Matrix*, 2> matrices{};
  std::array<Box, 2> boxes{};
};

/// A transform from a box of one matrix to an equal box of another, or in place. On the complex side of a real
/// transform, a part of the box is not used.
struct Transform {
  /// The transformed lines: each column, each row, every other element of a column, or the box in two or three
  /// dimensions.
  enum class Shape : std::uint8_t { columns, rows, every_other, plane, space };

  TransformKind kind = TransformKind::c2c;
  Shape shape = Shape::columns;
  int sign = -1;
  bool in_place = false;
  std::array<Matrix*, 2> matrices{};
  std::array<Box, 2> boxes{};
  std::uint64_t by_all = 0;  ///< identity of an input that every thread reads
  std::shared_ptr<FftwPlan> fftw;
};

class Player {
 public:
  Player(const Options& options, Common& common, std::int64_t thread, std::int64_t round);

  /// Takes all steps; ends the process on the first error.
  void play();
  std::int64_t calls() const { return calls_; }
  std::int64_t factorizations() const { return factorizations_; }
  std::int64_t transforms() const { return transforms_; }

 private:
  static constexpr std::size_t kept_plans = 6;

  /// One call and the parts of matrices that it uses.
  struct Plan {
    blas::Call call;
    std::array<Matrix*, 3> matrices{};
    std::array<Box, 3> boxes{};
    std::array<bool, 3> down{};  ///< whether a vector is a part of a column; otherwise it is a part of a row
    std::uint64_t by_all = 0;    ///< identity of the operand that every thread reads, if there is one
  };

  void step();
  void call_step();
  void factorization_step();
  void transform_step();
  void common_step();
  void write_step(Matrix& matrix);
  void memory_step();
  void stack_step();
  void fork_step();

  std::unique_ptr<Matrix> new_matrix(blas::Scalar scalar);
  std::unique_ptr<Matrix> borrow(char* memory, blas::Scalar scalar, std::int64_t rows, std::int64_t columns,
                                 std::int64_t leading_dimension);
  void add_static_matrices();
  void replace(std::size_t index);
  void forget_plans_with(const Matrix* matrix);

  /// Chooses a random routine, options, sizes and places. Returns false if nothing fits.
  bool plan_call(Plan& plan, Matrix* by_all, bool may_write_by_all);
  void choose_options(blas::Call& call);
  bool choose_sizes(Plan& plan);
  /// A box with the size of operand `index`.
  static Box extent(const Plan& plan, std::size_t index);
  /// Chooses places such that no box overlaps the last one.
  bool choose_places(Matrix* const* matrices, Box* boxes, std::size_t count);
  void choose_coefficients(blas::Call& call);
  /// Makes the call on the matrices and the reference's call on the shadows, and compares.
  void run(Plan& plan);
  void compare_result(const Plan& plan, double tolerance);
  /// Makes a product with a part of a matrix as the first factor, so that the results of another library are used.
  void multiply_by(Matrix& matrix, const Box& box);

  bool plan_factorization(Factorization& plan);
  std::int64_t make_dominant(const Factorization& plan);
  void factorise(const Factorization& plan);
  void factorise_by_cholesky(const Factorization& plan);
  void factorise_by_lu(const Factorization& plan);
  void factorise_by_qr(const Factorization& plan);
  void find_eigenvectors(const Factorization& plan);
  /// Runs `call`, which solves for B, and checks that left X = right.
  void solve(const Factorization& plan, const std::function<int()>& call, const Dense& left, const Dense& right);
  void compare_solution(const Factorization& plan, const Dense& left, const Dense& right);
  void compare(const Dense& found, const Dense& expected, double scale, blas::Scalar scalar);

  bool plan_transform(Transform& plan, Matrix* by_all);
  void run(Transform& plan);

  /// Stores an element in matrix and shadow.
  static void put(Matrix& matrix, std::int64_t row, std::int64_t column, blas::Coefficient value);
  /// Writes ordinary values if results have grown, or have become so small that they lack full precision.
  void renew(Matrix& matrix, const Box& box);
  void check(const Matrix& matrix, const char* when);
  void check_all(const char* when);
  [[noreturn]] void fail(const std::string& what) const;

  const Options& options_;
  Common& common_;
  std::int64_t thread_;
  std::int64_t round_;
  std::int64_t step_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t factorizations_ = 0;
  std::int64_t transforms_ = 0;
  double magnitude_;
  Random random_;
  Random onlooker_;  ///< of what changes nothing, so that the other choices do not depend on it
  std::vector<std::unique_ptr<Matrix>> matrices_;
  std::vector<Plan> recent_;
  std::vector<Factorization> recent_factorizations_;
  std::vector<Transform> recent_transforms_;
  bool on_stack_ = false;
  bool in_child_ = false;
  std::string doing_ = "starting";
};

}  // namespace coherence
