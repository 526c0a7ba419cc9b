// A call of a distributed routine: its arguments by name, and whether one process may make it for all processes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scalapack/arguments.h"
#include "scalapack/layout.h"

namespace blastoff::scalapack {

/// Smaller calls stay distributed, because asking the other ranks would take a noticeable part of their time. A number
/// of multiplications, for example those of a product of order 256.
inline constexpr double min_multiplications = 256.0 * 256.0 * 256.0;
/// Calls with fewer floating-point operations for each byte that goes from process to process stay distributed: they
/// take as long as moving the bytes.
inline constexpr double min_intensity = 8;
/// The work space for larger eigenproblems has more elements than LAPACK's integers can count.
inline constexpr int greatest_eigenproblem = 32766;

class Call {
 public:
  static constexpr std::size_t max_matrices = 3;

  /// `words`: the routine's arguments and the lengths of its letters. The integers to which they point have 32 bits.
  Call(Routine routine, void* const* words) : routine_(routine), words_(words) {}

  Routine routine() const { return routine_; }
  Kind kind() const { return row(routine_).kind; }
  blas::Scalar scalar() const { return row(routine_).scalar; }
  LocalRoutine local() const { return row(routine_).local; }
  const ArgumentList& arguments() const { return argument_list(routine_); }
  bool complex() const { return blas::is_complex(scalar()); }
  std::size_t element_bytes() const { return blas::element_size(scalar()); }
  /// Bytes of an eigenvalue.
  std::size_t real_bytes() const { return element_bytes() / (complex() ? 2 : 1); }
  /// Bytes of alpha or beta.
  std::size_t coefficient_bytes(Argument argument) const;

  bool has(Argument argument) const { return arguments().has(argument); }
  void* word(Argument argument) const { return words_[arguments().position(argument)]; }
  /// Whether the call has been made and has reported a failure, which may be quicker than a result.
  bool failed() const { return has(Argument::info) && integer(Argument::info) != 0; }
  int integer(Argument argument) const { return *static_cast<const int*>(word(argument)); }
  /// In small letters.
  char letter(Argument argument) const { return static_cast<char>(*static_cast<const char*>(word(argument)) | 0x20); }
  int* integers(Argument argument) const { return static_cast<int*>(word(argument)); }

  /// BLACS's number of the grid.
  int context() const { return static_cast<const Descriptor*>(descriptor(rules()[0].matrix))->context; }
  /// Row and column of the sub-matrix, from 1.
  struct Place {
    int row = 1;
    int column = 1;
  };
  Place place(Argument matrix) const {
    const std::size_t first = arguments().position(matrix);
    return {*static_cast<const int*>(words_[first + 1]), *static_cast<const int*>(words_[first + 2])};
  }
  const void* descriptor(Argument matrix) const { return words_[arguments().position(matrix) + 3]; }

  /// The sub-matrices in the order of the arguments.
  std::span<const MatrixRule> rules() const { return matrix_rules(kind()); }
  /// Has no elements, and no layout, unless uses().
  DistributedMatrix matrix(const MatrixRule& rule) const;

  /// Only for routines with pivots: the rows of the matrix to which they are tied, and how many there are.
  Axis pivot_axis(const Grid& grid) const;
  operation::Intent pivot_intent() const {
    return kind() == Kind::getrs ? operation::Intent::read : operation::Intent::write;
  }

  /// Only for routines with reflectors: the columns of the matrix to which their factors (tau) are tied.
  Axis reflector_axis(const Grid& grid) const;
  operation::Intent reflector_intent() const {
    return kind() == Kind::geqrf ? operation::Intent::write : operation::Intent::read;
  }

  /// Whether the call is to compute the vectors that make this matrix (z, u or vt).
  bool wants_vectors(Argument matrix = Argument::z) const {
    return letter(matrix == Argument::vt ? Argument::job_right : Argument::job) == 'v';
  }
  /// Whether the program gives this matrix. The words of vectors that are not wanted may be anything.
  bool uses(Argument matrix) const {
    const bool vectors = matrix == Argument::z || matrix == Argument::u || matrix == Argument::vt;
    return !vectors || wants_vectors(matrix);
  }
  /// Whether the local routine leaves the vectors Z in A.
  bool vectors_lie_in_a() const { return kind() == Kind::syev || kind() == Kind::syevd; }
  /// The length of the vector w, if it has one.
  int max_values() const { return kind() == Kind::gesvd ? extent(Extent::shortest) : integer(Argument::n); }

  /// Whether the program gives work space. Then the original can check the arguments without computing.
  bool has_work() const { return has(Argument::lwork); }
  bool asks_for_work_size() const;

  /// Lets the original check the arguments and compute the size of the work space, without solving. All processes of
  /// the grid call it together. Returns the original's info. Only if has_work().
  int query(void* original) const;
  /// After query(): whether the program's work space is as large as the original needs.
  bool has_work_space() const;

  /// Roughly the multiplications that the call takes, and the bytes that it moves if one process makes it for all.
  double multiplications() const;
  double moved_bytes() const;
  /// Whether the call is so large that one process might make it in less time. All processes get the same answer.
  bool is_worth_asking() const;

  /// Whether the call has a form that one process can make for all, as far as all processes know it alike: letters that
  /// ScaLAPACK accepts, and sub-matrices of the grid whose blocks match as ScaLAPACK wants it. Other calls go to the
  /// original, which reports wrong arguments.
  bool may_be_gathered(const Grid& grid) const;
  /// Whether this process's own arguments, which the others do not know, are right.
  bool is_right_here(const Grid& grid) const;

  /// Whether the argument is the same on all processes, and means something.
  bool is_common(Argument argument) const;
  /// A hash of the arguments that must be the same on all processes; without the numbers (alpha, beta) it is the same
  /// for calls that take the same time.
  std::uint32_t fingerprint(bool with_numbers = true) const;

 private:
  /// Positions of the lengths of the work spaces among the arguments. Each length follows its work space.
  struct WorkLengths {
    std::array<Argument, 3> arguments;
    std::size_t count;
  };
  WorkLengths work_lengths() const;
  int extent(Extent extent) const;
  bool letters_accepted() const;
  bool blocks_match(const Grid& grid) const;
  bool zero(Argument coefficient) const;
  double work_space(Argument work) const;

  Routine routine_;
  void* const* words_;
};

/// Calls a routine with its words.
void invoke(void* function, void* const* words, std::size_t count);

}  // namespace blastoff::scalapack
