// Which registers and numbers an x86-64 instruction reads and writes.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>

namespace blastoff::intercept::patch::x86_64 {

/// A general register: its number in machine code, and the number of its bytes that a name means.
struct General {
  int number = -1;
  int bytes = 0;
};

constexpr int rax = 0;
constexpr int rsp = 4;
constexpr int rbp = 5;

/// `number` is negative if the name is not that of a general register.
General general(unsigned name);

/// Returns the number of a vector register of any width; -1: the name is another register's.
int vector_register(unsigned name);

enum class Reals : std::uint8_t { none, some, singles, doubles };

/// Returns the kind of floating-point numbers that an instruction reads from memory or writes there. Instructions that
/// move several numbers at once do not tell their kind, because they are also used for other data.
Reals reals_of(const cs_insn& decoded);

/// reads(): whether operand number `operand` is read. writes(): whether it is written.
bool reads(const cs_insn& decoded, int operand);
bool writes(const cs_insn& decoded, int operand);

/// Whether the result does not depend on the operands, because both are the same register.
bool clears(const cs_insn& decoded);

/// compares(): whether the instruction only compares what it reads. copies_if(), moves(): whether it only copies it, on
/// a condition or always. What is read may then as well be an address.
bool compares(const cs_insn& decoded);
bool copies_if(const cs_insn& decoded);
bool moves(const cs_insn& decoded);

/// Whether an instruction that moves or converts a value into a register may leave the rest of that register unchanged.
bool fills_part(const cs_insn& decoded);

}  // namespace blastoff::intercept::patch::x86_64
