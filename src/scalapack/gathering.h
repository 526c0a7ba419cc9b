// One process of the grid solves a distributed eigenproblem for all processes. Its matrices are gathered on that
// process, and the results are distributed again. Until the problem has been solved, nothing is written to the
// program's memory, so all processes can still solve it together.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lapack/arguments.h"
#include "scalapack/functions.h"

namespace blastoff::scalapack {

/// The problem on the process that is to solve it: memory for its matrices, not yet touched, and the words of a call of
/// LAPACK's routine.
class GatheredProblem {
 public:
  explicit GatheredProblem(const Call& call);

  /// Whether the memory could be allocated.
  explicit operator bool() const { return complete_; }

  lapack::Routine routine() const { return call_.local(); }
  std::span<void* const> words() const { return words_; }
  /// Bytes of the matrices that will be used.
  std::size_t bytes() const { return matrices_ * matrix_bytes(); }
  std::size_t matrix_bytes() const { return n_ * n_ * call_.element_bytes(); }

  void* a() const { return a_; }
  void* b() const { return b_; }
  /// The eigenvectors, after the problem has been solved.
  void* vectors() const { return call_.generalized() ? z_ : a_; }
  double* values() const { return values_; }
  int info() const { return info_; }
  int found() const { return call_.generalized() ? found_ : size_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  void* take(std::size_t elements, std::size_t element_bytes);
  void call_standard();
  void call_generalized();
  void add(std::initializer_list<const void*> words);

  const Call& call_;
  int size_;
  std::size_t n_;
  std::size_t matrices_;
  bool complete_ = true;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<void*> words_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* z_ = nullptr;
  double* values_ = nullptr;
  int work_length_ = 0;
  int real_work_length_ = 0;
  int integer_work_length_ = 0;
  int found_ = 0;
  int info_ = 0;
};

/// The decisions and the work of the grid's root.
class Root {
 public:
  /// Whether gathering is expected to pay, and the problem can be solved here. Answers at once.
  virtual bool wants(const GatheredProblem& problem, const Grid& grid) = 0;

  /// Calls LAPACK's routine. Returns false if the problem was not solved.
  virtual bool solve(const GatheredProblem& problem) = 0;

 protected:
  ~Root() = default;
};

enum class Outcome : std::uint8_t {
  distributed,  ///< nothing has been done: the original must be called
  gathered,     ///< all results are in place
  reported,     ///< the original has found and reported wrong arguments
};

/// Called by all processes of the grid together, in place of the original. `patience`: see all_gather().
Outcome gather(const Call& call, void* original, const Functions& functions, const Grid& grid, Root& root,
               std::chrono::duration<double> patience);

}  // namespace blastoff::scalapack
