#include "intercept/evidence/fit.h"

#include <algorithm>

namespace blastoff::intercept {
namespace {

using patch::ArgumentUse;
using patch::WordUse;

/// So many arguments must be used as the routine would use them; all arguments must be used somehow.
constexpr int enough = 2;

/// Words in registers stay there if nobody touches them. So handing on can only be recognised by the other words, those
/// on the stack.
constexpr std::size_t registers = 6;

/// The size of an integer argument, in bytes, if only that size is read.
constexpr unsigned narrow_integer = 4;
constexpr unsigned wide_integer = 8;

class Comparison {
 public:
  Comparison(const Signature& signature, const ArgumentUse& use) : signature_(signature), use_(use) {}

  Fit run() {
    for (const Role role : signature_.roles) compare(role);
    // The routine does not take these words.
    for (std::size_t i = word_; i < ArgumentUse::max_words - 1; ++i) contradicted_ |= use_.words[i].read;
    contradicted_ |= use_.variadic || (narrow_ && wide_) || (values_ == 0 && (use_.reals & 1U) != 0);
    const unsigned values = (1U << values_) - 1;
    all_used_ &= (use_.reals & values) == values;
    Fit result;
    if (contradicted_)
      result.verdict = Fit::Verdict::contradicts;
    else if (all_used_ && confirmed_ >= enough)
      result.verdict = Fit::Verdict::fits;
    else if (all_used_ && arguments_ > registers && use_.handed_on >= arguments_)
      result.verdict = Fit::Verdict::hands_on;
    if (narrow_ != wide_) result.integers = wide_ ? abi::IntegerWidth::ilp64 : abi::IntegerWidth::lp64;
    result.reals = reals_;
    return result;
  }

 private:
  bool single() const { return signature_.scalar == blas::Scalar::s || signature_.scalar == blas::Scalar::c; }
  unsigned real_size() const { return single() ? 4 : 8; }

  void compare(Role role) {
    if (role == Role::value) {
      ++values_;
      return;
    }
    const WordUse& word = use_.words[word_++];
    if (role == Role::length) {
      refuses(word.address);
      return;
    }
    ++arguments_;
    all_used_ &= word.read;
    bool confirmed = false;
    switch (role) {
      case Role::letter: confirmed = letter(word); break;
      case Role::letters: confirmed = letters(word); break;
      case Role::integer: confirmed = integer(word); break;
      case Role::real: confirmed = !refuses(by_value(word) || word.written) && real(word); break;
      case Role::array: confirmed = !refuses(by_value(word)) && real(word); break;
      case Role::integers: confirmed = integers(word); break;
      case Role::number: confirmed = number(word); break;
      case Role::value:
      case Role::length: break;
    }
    confirmed_ += confirmed ? 1 : 0;
  }

  bool refuses(bool reason) {
    contradicted_ |= reason;
    return reason;
  }

  /// (Sanitizers calculate with addresses too, so a word that is also used as an address does not count.)
  static bool by_value(const WordUse& word) { return word.number && !word.address; }

  bool letter(const WordUse& word) { return !refuses(word.indexed) && letters(word); }

  bool letters(const WordUse& word) {
    return !refuses(by_value(word) || word.written || word.reals || word.integers > 1) && word.integers == 1;
  }

  bool integer(const WordUse& word) {
    const bool other = word.integers != 0 && word.integers != narrow_integer && word.integers != wide_integer;
    if (refuses(by_value(word) || word.written || word.indexed || word.singles || word.doubles || other)) return false;
    narrow_ |= word.integers == narrow_integer;
    wide_ |= word.integers == wide_integer;
    return word.integers != 0;
  }

  bool real(const WordUse& word) {
    const bool complex = blas::is_complex(signature_.scalar);
    // Complex numbers in single precision are copied as one number of double size.
    const bool other = single() ? word.doubles && !complex : word.singles;
    const unsigned foreign_integers = (complex && single()) ? 3U : 15U & ~real_size();
    if (refuses(other || (word.integers & foreign_integers) != 0)) return false;
    const bool right = single() ? word.singles : word.doubles;
    reals_ |= right;
    return right;
  }

  bool integers(const WordUse& word) {
    return !refuses(by_value(word) || word.singles || word.doubles || (word.integers & 3U) != 0) && word.integers != 0;
  }

  bool number(const WordUse& word) {
    if (refuses(word.address)) return false;
    narrow_ |= word.narrow;
    return word.number;
  }

  const Signature& signature_;
  const ArgumentUse& use_;
  std::size_t word_ = 0;
  unsigned values_ = 0;
  std::size_t arguments_ = 0;  ///< words that the routine takes, without lengths of letters
  int confirmed_ = 0;
  bool all_used_ = true;
  bool contradicted_ = false;
  bool narrow_ = false;
  bool wide_ = false;
  bool reals_ = false;
};

}  // namespace

Fit fit(const Signature& signature, const ArgumentUse& use) {
  return signature.roles.empty() ? Fit{} : Comparison(signature, use).run();
}

bool settled(const Fit& fit) {
  return fit.verdict == Fit::Verdict::fits && fit.integers.has_value() && fit.reals;
}

}  // namespace blastoff::intercept
