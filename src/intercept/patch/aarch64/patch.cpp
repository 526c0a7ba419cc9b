#include "intercept/patch/relocator.h"

#include <algorithm>
#include <array>
#include <optional>

#include "intercept/patch/aarch64/code.h"
#include "intercept/patch/aarch64/emit.h"
#include "intercept/patch/aarch64/flow.h"
#include "intercept/patch/aarch64/instruction.h"
#include "intercept/patch/disassembler.h"

namespace blastoff::intercept::patch::aarch64 {
namespace {

// Rewrites one instruction so that it has the same effect at another address.

constexpr unsigned zero_register = 31;

unsigned destination(std::uint32_t word) {
  return word & 31U;
}

/// Makes the same load or prefetch, from the address in register `base`.
std::uint32_t load_from(std::uint32_t literal, unsigned base) {
  constexpr std::array<std::uint32_t, 4> general{0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000};
  constexpr std::array<std::uint32_t, 4> vector{0xbd400000, 0xfd400000, 0x3dc00000, 0};
  const bool is_vector = (literal >> 26U & 1U) != 0;
  const unsigned size = literal >> 30U;
  return (is_vector ? vector[size] : general[size]) | base << 5U | destination(literal);
}

void put_load(CodeBuffer& out, const Instruction& instruction, unsigned scratch) {
  const bool general = (instruction.word >> 26U & 1U) == 0;
  const bool prefetch = general && instruction.word >> 30U == 3;
  const unsigned number = destination(instruction.word);
  // The address can be put into the register that the load overwrites.
  const unsigned base = general && !prefetch && number != zero_register ? number : scratch;
  put_address(out, base, instruction.target);
  out.put_value(load_from(instruction.word, base));
}

/// Appends `instruction` to `out`.
void relocate(const Instruction& instruction, CodeBuffer& out, FarBranch far) {
  switch (instruction.form) {
    case Form::address:
      // An instruction that writes to the zero register has no effect. In an add, the same number would mean the stack
      // pointer.
      if (destination(instruction.word) != zero_register) {
        put_address(out, destination(instruction.word), instruction.target);
      }
      return;
    case Form::load: put_load(out, instruction, far.scratch); return;
    case Form::jump: put_jump(out, instruction.target, far); return;
    case Form::conditional_jump: put_conditional_jump(out, instruction.word, instruction.target, far); return;
    case Form::call: put_call(out, instruction.target, far); return;
    case Form::plain:
    case Form::indirect_jump:
    case Form::indirect_call:
    case Form::end: out.put_value(instruction.word); return;
  }
}

constexpr std::uint32_t bti_c = 0xd503245f;
constexpr std::uint32_t nop = 0xd503201f;

bool is_bti(std::uint32_t word) {
  return (word & 0xffffff3fU) == 0xd503241fU;
}

/// paciasp, pacibsp: on machines that check indirect branches, these are landing pads too.
bool signs_return_address(std::uint32_t word) {
  return (word & 0xffffffbfU) == 0xd503233fU;
}

/// Returns a set of bits: which of registers 16 and 17 the instruction uses. Calls may overwrite both on their way.
unsigned scratch_registers(const cs_insn& decoded) {
  unsigned found = 0;
  const auto see = [&](unsigned number) {
    if (number == ARM64_REG_X16 || number == ARM64_REG_W16) found |= 1U;
    if (number == ARM64_REG_X17 || number == ARM64_REG_W17) found |= 2U;
  };
  const cs_arm64& details = decoded.detail->arm64;
  for (const cs_arm64_op& operand : std::span(details.operands, details.op_count)) {
    if (operand.type == ARM64_OP_REG) see(operand.reg);
    if (operand.type == ARM64_OP_MEM) {
      see(operand.mem.base);
      see(operand.mem.index);
    }
  }
  return found;
}

/// Returns register 16 or 17 if the code of `size` bytes at `begin` does not use it. nullopt: both are used, or not all
/// of the code could be decoded.
std::optional<unsigned> free_register(const FunctionCode& function, std::size_t begin, std::size_t size) {
  Disassembly walk(Architecture::aarch64, function.bytes.subspan(begin, size), function.address + begin);
  unsigned used = 0;
  while (const cs_insn* decoded = walk.next()) used |= scratch_registers(*decoded);
  if (!walk.done() || used == 3) return {};
  return (used & 2U) == 0 ? 17 : 16;
}

/// Whether code is what compilers put between functions.
bool is_filler(std::span<const std::byte> code) {
  for (std::size_t offset = 0; offset + instruction_size <= code.size(); offset += instruction_size) {
    const std::uint32_t word = word_at(code, offset);
    if (word != nop && word != 0) return false;
  }
  return true;
}

/// Whether the jump may extend `count` bytes into the padding.
bool may_use_padding(const FunctionCode& function, std::size_t count) {
  return count <= function.padding && is_filler({function.bytes.data() + function.bytes.size(), count});
}

tl::expected<FunctionPatch, Obstacle> patch(const FunctionCode& function, std::uint64_t hook,
                                            std::uint64_t trampoline) {
  FunctionPatch patch;
  if (function.bytes.size() < instruction_size) return tl::unexpected(Obstacle::too_short);
  const std::uint32_t first = word_at(function.bytes, 0);
  patch.offset = is_bti(first) ? instruction_size : 0;
  // The hook returns to the address that the caller passed, so the return address must not be signed on the way. The
  // signing instruction is a landing pad, too. It moves, and a bti takes its place.
  const bool signs = signs_return_address(first);
  const bool guarded = signs || patch.offset != 0;

  CodeBuffer jump(function.address + patch.offset);
  if (signs) jump.put_value(bti_c);
  put_jump(jump, hook, {});
  const std::size_t available = (function.bytes.size() - patch.offset) / instruction_size * instruction_size;
  const std::size_t size = std::min(jump.size(), available);
  const std::size_t end = patch.offset + size;

  const std::optional<unsigned> scratch = free_register(function, patch.offset, size);
  if (!scratch) return tl::unexpected(Obstacle::unknown_instruction);
  const FarBranch far{*scratch, guarded};
  CodeBuffer relocated(trampoline);
  bool ends_flow = false;
  for (std::size_t offset = patch.offset; offset < end; offset += instruction_size) {
    const Instruction instruction = inspect(word_at(function.bytes, offset), function.address + offset);
    relocate(instruction, relocated, far);
    ends_flow = instruction.ends_flow();
  }
  if (size < jump.size() && !(ends_flow && may_use_padding(function, jump.size() - size))) {
    return tl::unexpected(Obstacle::too_short);
  }
  const std::size_t second = patch.offset + instruction_size;
  if (const auto obstacle = check_flow(function, second, end)) return tl::unexpected(*obstacle);
  if (!ends_flow) put_jump(relocated, function.address + end, far);
  patch.jump = std::move(jump).take();
  patch.trampoline = std::move(relocated).take();
  return patch;
}

std::vector<JumpPlace> jump_places(const FunctionCode& function) {
  constexpr std::uint64_t reach = std::uint64_t{1} << 27;  // distance of a branch, in bytes
  constexpr std::uint32_t authenticates = 0x80;            // this bit makes autiasp of paciasp, and autibsp of pacibsp
  if (function.bytes.size() < 2 * instruction_size) return {};
  const std::uint32_t first = word_at(function.bytes, 0);
  const bool signs = signs_return_address(first);
  const std::size_t offset = signs || is_bti(first) ? instruction_size : 0;
  CodeBuffer undo(0);
  if (signs) undo.put_value(first | authenticates);
  const std::uint64_t address = function.address + offset;
  return {{offset, std::move(undo).take(), address - reach, address + reach - instruction_size}};
}

tl::expected<FunctionPatch, Obstacle> patch_running(const FunctionCode& function, const JumpPlace& place,
                                                    std::uint64_t target, std::uint64_t trampoline) {
  FunctionPatch patch;
  patch.offset = place.offset;
  const std::size_t begin = is_bti(word_at(function.bytes, 0)) ? instruction_size : 0;
  const std::size_t end = place.offset + instruction_size;
  const std::optional<unsigned> scratch = free_register(function, begin, end - begin);
  if (!scratch) return tl::unexpected(Obstacle::unknown_instruction);
  const FarBranch far{*scratch, place.offset != 0};
  CodeBuffer relocated(trampoline);
  bool ends_flow = false;
  for (std::size_t offset = begin; offset < end; offset += instruction_size) {
    const Instruction instruction = inspect(word_at(function.bytes, offset), function.address + offset);
    relocate(instruction, relocated, far);
    ends_flow = instruction.ends_flow();
  }
  const std::size_t watched = place.offset == begin ? end : place.offset;
  if (const auto obstacle = check_flow(function, watched, end)) return tl::unexpected(*obstacle);
  if (!ends_flow) put_jump(relocated, function.address + end, far);
  CodeBuffer jump(function.address + place.offset);
  put_jump(jump, target, {});
  if (jump.size() > instruction_size) return tl::unexpected(Obstacle::in_use);
  patch.jump = std::move(jump).take();
  patch.trampoline = std::move(relocated).take();
  return patch;
}

std::vector<std::byte> undo_and_jump(const JumpPlace& place, std::uint64_t address, std::uint64_t stub) {
  CodeBuffer code(address);
  code.put(place.undo);
  put_jump(code, stub, {.scratch = 17, .by_return = false});
  return std::move(code).take();
}

tl::expected<FunctionPatch, Obstacle> patch_empty(std::span<const std::byte> code, std::uint64_t address,
                                                  std::uint64_t hook) {
  constexpr std::uint32_t ret = 0xd65f03c0;
  FunctionPatch patch;
  patch.offset = is_bti(word_at(code, 0)) ? instruction_size : 0;
  CodeBuffer jump(address + patch.offset);
  put_jump(jump, hook, {});
  if (word_at(code, patch.offset) != ret || jump.size() > instruction_size) return tl::unexpected(Obstacle::too_short);
  patch.jump = std::move(jump).take();
  return patch;
}

}  // namespace

constinit const Relocator relocator = {&patch, &jump_places, &patch_running, &undo_and_jump, &patch_empty};

}  // namespace blastoff::intercept::patch::aarch64
