// A distributed problem in the memory of one process, which solves it for all: where its matrices lie, and the words of
// a call of BLAS's or LAPACK's routine.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "lapack/arguments.h"
#include "scalapack/call.h"

namespace blastoff::scalapack {

/// Where the whole matrices and vectors of a call lie in one memory.
class Places {
 public:
  /// One behind the other. All processes find the same places.
  explicit Places(const Call& call);

  /// Where each matrix begins, by the index of the rule, and where the vectors do.
  struct Begins {
    std::array<std::size_t, Call::max_matrices> matrices{};
    std::size_t vectors = 0;

    bool operator==(const Begins&) const = default;
  };
  const Begins& begins() const { return begins_; }
  void move(const Begins& begins) { begins_ = begins; }

  /// By the index of the rule; the vectors of syevd lie in A.
  WholeMatrix matrix(std::size_t index, std::byte* base) const {
    return {base + begins_.matrices[index], leading_dimensions_[index]};
  }
  /// Finds the first rule for a matrix of this name.
  static std::size_t index_of(const Call& call, Argument matrix);
  void* factors(std::byte* base) const { return base + begins_.vectors + factors_; }
  int* pivots(std::byte* base) const { return reinterpret_cast<int*>(base + begins_.vectors + pivots_); }
  void* values(std::byte* base) const { return base + begins_.vectors + values_; }

  /// Bytes of a matrix, or 0 if it lies in another one; of the vectors; of all.
  std::size_t matrix_bytes(std::size_t index) const { return matrix_bytes_[index]; }
  std::size_t vector_bytes() const { return vector_bytes_; }
  std::size_t bytes() const { return bytes_; }
  /// Everything lies before this.
  std::size_t end() const;

 private:
  std::size_t take(std::size_t bytes);

  Begins begins_{};
  std::array<std::size_t, Call::max_matrices> leading_dimensions_{};
  std::array<std::size_t, Call::max_matrices> matrix_bytes_{};
  std::size_t vector_bytes_ = 0;
  std::size_t factors_ = 0;  ///< of reflectors; from the begin of the vectors, as the next two
  std::size_t pivots_ = 0;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

/// The problem on the process that is to solve it.
class GatheredProblem {
 public:
  /// `base`: memory for places.bytes(); nullptr: the problem has memory of its own.
  GatheredProblem(const Call& call, const Places& places, std::byte* base);

  /// Whether the memory could be allocated.
  explicit operator bool() const { return complete_; }

  const Call& call() const { return call_; }
  LocalRoutine routine() const { return call_.local(); }
  std::span<void* const> words() const { return words_; }
  std::byte* base() const { return base_; }
  /// By the index of the rule.
  WholeMatrix matrix(std::size_t index) const { return places_.matrix(index, base_); }
  /// Bytes of the matrices and vectors.
  std::size_t bytes() const { return places_.bytes(); }
  /// From base(): behind all matrices and vectors.
  std::size_t end() const { return places_.end(); }
  /// Bytes of device memory that it takes, with work space.
  std::size_t device_bytes() const;
  int info() const { return info_; }
  /// Number of vectors that were found.
  int found() const;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  std::size_t matrix_bytes() const;
  void* take(std::size_t elements, std::size_t element_bytes);
  void add(const void* word) { words_.push_back(const_cast<void*>(word)); }
  void call_blas();
  void call_lapack();
  const void* lapack_word(lapack::Argument argument);
  const void* matrix_word(lapack::Argument argument) const;
  const void* letter_word(lapack::Argument argument) const;
  bool has_work_space() const;
  void size_work_space();

  const Call& call_;
  const Places& places_;
  std::byte* base_;
  bool complete_ = true;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<void*> words_;
  std::array<int, Call::max_matrices> leading_dimensions_{};
  int work_length_ = 0;
  int real_work_length_ = 0;
  int integer_work_length_ = 0;
  int found_ = 0;
  int info_ = 0;
};

}  // namespace blastoff::scalapack
