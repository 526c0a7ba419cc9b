#include "intercept/patch/relocator.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "intercept/patch/code_buffer.h"
#include "intercept/patch/disassembler.h"
#include "intercept/patch/x86_64/flow.h"
#include "intercept/patch/x86_64/instruction.h"
#include "intercept/patch/x86_64/relocate.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};

std::size_t landing_pad(std::span<const std::byte> code) {
  const bool there = code.size() >= endbr64.size() && std::equal(endbr64.begin(), endbr64.end(), code.begin());
  return there ? endbr64.size() : 0;
}

/// The instructions that the jump replaces.
struct Moved {
  std::size_t second = 0;  ///< offset from the entry of the second instruction; `end` if there is only one
  std::size_t end = 0;
  bool ends_flow = false;  ///< control does not continue behind the last one
};

/// Relocates instructions to `out`, from offset `begin` on, until they make up `size` bytes or the function ends.
tl::expected<Moved, Obstacle> move(const FunctionCode& function, std::size_t begin, std::size_t size, CodeBuffer& out) {
  Disassembly walk(Architecture::x86_64, function.bytes.subspan(begin), function.address + begin);
  Moved moved{0, begin, false};
  while (moved.end < begin + size && moved.end < function.bytes.size()) {
    const cs_insn* decoded = walk.next();
    if (decoded == nullptr) return tl::unexpected(Obstacle::unknown_instruction);
    const Instruction instruction = inspect(*decoded);
    if (const auto obstacle = relocate(instruction, function.bytes.subspan(moved.end, decoded->size), out)) {
      return tl::unexpected(*obstacle);
    }
    moved.end += decoded->size;
    moved.ends_flow = instruction.ends_flow;
    if (moved.second == 0) moved.second = moved.end;
  }
  return moved;
}

/// Returns the size of a usual filling instruction at the beginning of `code`: nop, int3, or a nop with an address of
/// zeros, with prefixes. 0: it is something else, or an unusual form.
std::size_t usual_filler(std::span<const std::byte> code) {
  constexpr std::byte operand_size{0x66}, segment{0x2e}, nop{0x90}, int3{0xcc};
  struct LongNop {
    std::byte address_form;
    std::size_t zeros;
  };
  constexpr LongNop long_nops[] = {
      {std::byte{0x00}, 0}, {std::byte{0x40}, 1}, {std::byte{0x44}, 2}, {std::byte{0x80}, 4}, {std::byte{0x84}, 5}};
  std::size_t at = 0;
  while (at < code.size() && (code[at] == operand_size || code[at] == segment)) ++at;
  if (at < code.size() && (code[at] == nop || (at == 0 && code[at] == int3))) return at + 1;
  if (at + 3 > code.size() || code[at] != std::byte{0x0f} || code[at + 1] != std::byte{0x1f}) return 0;
  for (const LongNop& each : long_nops) {
    const std::size_t end = at + 3 + each.zeros;
    if (code[at + 2] != each.address_form || end > code.size()) continue;
    const auto zeros = code.subspan(at + 3, each.zeros);
    if (std::all_of(zeros.begin(), zeros.end(), [](std::byte byte) { return byte == std::byte{0}; })) return end;
  }
  return 0;
}

/// Whether the first `count` bytes of `code` are what compilers and linkers put between functions. Only unusual ones
/// are disassembled, because the first use of the disassembler takes a tenth of the time for loading the library.
bool is_filler(std::span<const std::byte> code, std::size_t count) {
  const auto used = code.first(count);
  if (std::all_of(used.begin(), used.end(), [](std::byte byte) { return byte == std::byte{0}; })) return true;
  std::size_t usual = 0;
  while (usual < count) {
    const std::size_t size = usual_filler(code.subspan(usual));
    if (size == 0) break;
    usual += size;
  }
  if (usual >= count) return true;
  Disassembly walk(Architecture::x86_64, code, 0);
  for (std::size_t end = 0; end < count;) {
    const cs_insn* decoded = walk.next();
    if (decoded == nullptr || (decoded->id != X86_INS_NOP && decoded->id != X86_INS_INT3)) return false;
    end += decoded->size;
  }
  return true;
}

/// Whether the jump may extend `count` bytes into the padding.
bool may_use_padding(const FunctionCode& function, std::size_t count) {
  const std::span padding(function.bytes.data() + function.bytes.size(), function.padding);
  return count <= padding.size() && is_filler(padding, count);
}

constexpr std::size_t word_size = 8;
constexpr std::size_t near_jump_size = 5;
constexpr std::byte near_jump{0xe9};

/// Returns the instruction that reverses `code`, a push of a register; empty: `code` is something else.
std::vector<std::byte> pop_for(std::span<const std::byte> code) {
  constexpr unsigned push_rax = 0x50, push_rsp = 0x54, pop_from_push = 0x08;
  constexpr std::byte extended{0x41};
  const bool has_prefix = code.size() == 2 && code.front() == extended;
  if (code.size() != 1 && !has_prefix) return {};
  const unsigned opcode = std::to_integer<unsigned>(code.back());
  if ((opcode & ~7U) != push_rax || (opcode == push_rsp && !has_prefix)) return {};
  std::vector<std::byte> pop(code.begin(), code.end());
  pop.back() = std::byte(opcode | pop_from_push);
  return pop;
}

/// How many bytes of a jump may differ from the code there: those of one instruction, within one word.
std::size_t changeable(std::uint64_t address, std::size_t instruction) {
  return std::min({instruction, word_size - address % word_size, near_jump_size});
}

/// Returns the addresses to which a jump at `offset` can lead if only its first `changed` bytes are written.
JumpPlace reach(const FunctionCode& function, std::size_t offset, std::size_t changed) {
  std::uint32_t kept = 0;
  std::memcpy(&kept, &function.bytes[offset + 1], sizeof kept);
  const std::uint64_t free = (std::uint64_t{1} << 8 * (changed - 1)) - 1;
  const std::uint64_t behind = function.address + offset + near_jump_size;
  if (changed == near_jump_size) return {offset, {}, behind - (free >> 1) - 1, behind + (free >> 1)};
  const std::uint64_t least = kept & ~static_cast<std::uint32_t>(free);
  const std::uint64_t first = behind + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(least)});
  return {offset, {}, first, first + free};
}

std::vector<JumpPlace> jump_places(const FunctionCode& function) {
  std::vector<JumpPlace> places;
  std::vector<std::byte> undo;
  std::size_t offset = landing_pad(function.bytes);
  Disassembly walk(Architecture::x86_64, function.bytes.subspan(offset), function.address + offset, Detail::none);
  while (offset + near_jump_size <= function.bytes.size() && undo.size() <= longest_undo) {
    const cs_insn* const decoded = walk.next();
    if (decoded == nullptr) break;
    places.push_back(reach(function, offset, changeable(function.address + offset, decoded->size)));
    places.back().undo = undo;
    const std::vector<std::byte> pop = pop_for(function.bytes.subspan(offset, decoded->size));
    if (pop.empty()) break;
    undo.insert(undo.begin(), pop.begin(), pop.end());
    offset += decoded->size;
  }
  return places;
}

tl::expected<FunctionPatch, Obstacle> patch_running(const FunctionCode& function, const JumpPlace& place,
                                                    std::uint64_t target, std::uint64_t trampoline) {
  FunctionPatch patch;
  patch.offset = place.offset;
  const std::size_t begin = landing_pad(function.bytes);
  CodeBuffer relocated(trampoline);
  const auto moved = move(function, begin, place.offset + 1 - begin, relocated);
  if (!moved) return tl::unexpected(moved.error());
  // A call may lead back to the entry. No branch leads to the instructions behind pushes.
  const std::size_t watched = place.offset == begin ? moved->end : place.offset;
  if (const auto obstacle = check_flow(function, watched, moved->end)) return tl::unexpected(*obstacle);
  if (!moved->ends_flow) put_jump(relocated, function.address + moved->end);
  const std::uint64_t address = function.address + place.offset;
  CodeBuffer jump(address);
  jump.put_bytes({std::to_integer<unsigned>(near_jump)});
  jump.put_value(static_cast<std::int32_t>(target - (address + near_jump_size)));
  patch.jump = std::move(jump).take();
  patch.jump.resize(changeable(address, moved->end - place.offset));
  patch.trampoline = std::move(relocated).take();
  return patch;
}

std::vector<std::byte> undo_and_jump(const JumpPlace& place, std::uint64_t address, std::uint64_t stub) {
  CodeBuffer code(address);
  code.put(place.undo);
  put_jump(code, stub);
  return std::move(code).take();
}

tl::expected<FunctionPatch, Obstacle> patch(const FunctionCode& function, std::uint64_t hook,
                                            std::uint64_t trampoline) {
  FunctionPatch patch;
  patch.offset = landing_pad(function.bytes);
  CodeBuffer jump(function.address + patch.offset);
  put_jump(jump, hook);
  CodeBuffer relocated(trampoline);
  const auto moved = move(function, patch.offset, jump.size(), relocated);
  if (!moved) return tl::unexpected(moved.error());

  const std::size_t end_of_jump = patch.offset + jump.size();
  const bool fits = end_of_jump <= moved->end;
  if (!fits && !(moved->ends_flow && may_use_padding(function, end_of_jump - moved->end))) {
    return tl::unexpected(Obstacle::too_short);
  }
  if (const auto obstacle = check_flow(function, moved->second, moved->end)) return tl::unexpected(*obstacle);
  if (!moved->ends_flow) put_jump(relocated, function.address + moved->end);
  patch.jump = std::move(jump).take();
  patch.trampoline = std::move(relocated).take();
  return patch;
}

tl::expected<FunctionPatch, Obstacle> patch_empty(std::span<const std::byte> code, std::uint64_t address,
                                                  std::uint64_t hook) {
  constexpr std::byte ret{0xc3};
  FunctionPatch patch;
  patch.offset = landing_pad(code);
  CodeBuffer jump(address + patch.offset);
  put_jump(jump, hook);
  const std::size_t end = patch.offset + 1;
  if (end >= code.size() || code[patch.offset] != ret) return tl::unexpected(Obstacle::too_short);
  const FunctionCode function{code.first(end), code.size() - end, address};
  if (!may_use_padding(function, jump.size() - 1)) return tl::unexpected(Obstacle::too_short);
  patch.jump = std::move(jump).take();
  return patch;
}

}  // namespace

constinit const Relocator relocator = {&patch, &jump_places, &patch_running, &undo_and_jump, &patch_empty};

}  // namespace blastoff::intercept::patch::x86_64
