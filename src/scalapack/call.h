// A call of a distributed eigensolver: its arguments by name, and whether one process may solve it for all processes.
#pragma once

#include <array>
#include <cstdint>

#include "scalapack/routine.h"

namespace blastoff::scalapack {

/// ScaLAPACK's description of a distributed matrix: blocks are dealt out cyclically to the rows and columns of a grid.
struct Descriptor {
  int type = 1;  ///< 1: dense
  int context = -1;
  int rows = 0;
  int columns = 0;
  int row_block = 1;
  int column_block = 1;
  int first_row = 0;  ///< the process row that holds the first row
  int first_column = 0;
  int leading_dimension = 1;  ///< of this process's part of the matrix
};

/// A grid of processes, and the place of this process in it.
struct Grid {
  int context = -1;
  int rows = 0;
  int columns = 0;
  int row = 0;
  int column = 0;

  bool has_this_process() const { return rows > 0 && row >= 0 && column >= 0; }
  int size() const { return rows * columns; }
  int rank() const { return row * columns + column; }
  bool is_root() const { return rank() == 0; }
};

/// Returns how many of `count` rows this process holds, if they are dealt out in blocks from the process `first` on
/// (numroc).
std::int64_t own_share(int count, int block, int process, int first, int processes);

/// Smaller problems stay distributed, because asking the other ranks would take a noticeable part of their time.
inline constexpr int min_order = 256;
/// The work space for larger problems has more elements than LAPACK's integers can count.
inline constexpr int greatest_order = 32766;

class Call {
 public:
  struct Matrix {
    void* address = nullptr;
    const Descriptor* descriptor = nullptr;
  };

  /// `words`: the routine's arguments and the lengths of its letters. The integers to which they point have 32 bits.
  Call(Routine routine, void* const* words) : routine_(routine), words_(words) {}

  Routine routine() const { return routine_; }
  lapack::Routine local() const { return row(routine_).local; }
  bool generalized() const { return routine_ == Routine::pzhegvx; }
  bool complex() const { return routine_ != Routine::pdsyevd; }
  std::size_t element_bytes() const { return complex() ? 16 : 8; }

  int order() const { return integer(generalized() ? 4 : 2); }
  char job() const { return letter(generalized() ? 1 : 0); }
  char range() const { return generalized() ? letter(2) : 'a'; }
  char uplo() const { return letter(generalized() ? 3 : 1); }
  bool wants_vectors() const { return job() == 'v'; }

  Matrix a() const { return matrix(generalized() ? 5 : 3); }
  Matrix b() const { return generalized() ? matrix(9) : Matrix{}; }
  Matrix z() const { return matrix(generalized() ? 22 : 8); }
  double* values() const { return static_cast<double*>(words_[generalized() ? 20 : 7]); }
  int* info() const { return static_cast<int*>(words_[argument_count() - 1]); }

  /// These are arguments of the generalized problem.
  void* itype() const { return words_[0]; }
  void* low_value() const { return words_[13]; }
  void* high_value() const { return words_[14]; }
  void* low_index() const { return words_[15]; }
  void* high_index() const { return words_[16]; }
  void* tolerance() const { return words_[17]; }
  int* found() const { return static_cast<int*>(words_[18]); }
  int* vectors_found() const { return static_cast<int*>(words_[19]); }
  int* failed() const { return static_cast<int*>(words_[32]); }
  int* clusters() const { return static_cast<int*>(words_[33]); }
  double* gaps() const { return static_cast<double*>(words_[34]); }

  bool asks_for_work_size() const;

  /// Lets the original check the arguments and compute the size of the work space, without solving. All processes of
  /// the grid call it together. Returns the original's info.
  int query(void* original) const;
  /// After query(): whether the program's work space is as large as the original needs.
  bool has_work_space() const;

  /// Whether the call has the form that may be gathered: whole square matrices of the grid, all with the same layout,
  /// and letters that ScaLAPACK accepts. Other calls go to the original.
  bool may_be_gathered(const Grid& grid) const;

  /// A hash of the arguments that must be the same on all processes.
  std::uint32_t fingerprint() const;

 private:
  /// Positions of the lengths of the work spaces among the arguments. Each length follows its work space.
  struct WorkLengths {
    std::array<std::uint8_t, 3> positions;
    std::size_t count;
  };
  WorkLengths work_lengths() const;
  std::size_t argument_count() const { return generalized() ? 36 : complex() ? 19 : 17; }
  int integer(std::size_t position) const { return *static_cast<const int*>(words_[position]); }
  char letter(std::size_t position) const {
    return static_cast<char>(*static_cast<const char*>(words_[position]) | 0x20);
  }
  Matrix matrix(std::size_t position) const {
    return {words_[position], static_cast<const Descriptor*>(words_[position + 3])};
  }
  bool whole(std::size_t position, const Grid& grid) const;

  Routine routine_;
  void* const* words_;
};

/// Calls a routine with its words.
void invoke(void* function, void* const* words, std::size_t count);

}  // namespace blastoff::scalapack
