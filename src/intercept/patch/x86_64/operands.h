// Which registers and numbers an x86-64 instruction takes from its operands and puts there.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>

namespace blastoff::intercept::patch::x86_64 {

/// A general register by its number in instructions, and how much of it a name means.
struct General {
  int number = -1;
  int bytes = 0;
};

constexpr int rax = 0;
constexpr int rsp = 4;
constexpr int rbp = 5;

/// `number` is negative where the name is not one of a general register.
General general(unsigned name);

/// The number of a vector register, of whatever width. -1: it is none.
int vector_register(unsigned name);

enum class Reals : std::uint8_t { none, some, singles, doubles };

/// The floating-point numbers that an instruction takes from memory or puts there. Moves of several numbers at once
/// are also used for other things.
Reals reals_of(const cs_insn& decoded);

/// Whether an operand is read, or written.
bool reads(const cs_insn& decoded, int operand);
bool writes(const cs_insn& decoded, int operand);

/// Whether the result does not depend on the operands, because they are the same register.
bool clears(const cs_insn& decoded);

/// Whether what is read may as well be an address: it is only compared or copied.
bool compares(const cs_insn& decoded);
bool copies_if(const cs_insn& decoded);

/// Whether the rest of a register, into which something is moved or converted, may stay.
bool fills_part(const cs_insn& decoded);

}  // namespace blastoff::intercept::patch::x86_64
