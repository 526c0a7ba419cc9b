#include "intercept/patch/x86_64/argument_use.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "intercept/patch/disassembler.h"
#include "intercept/patch/x86_64/instruction.h"
#include "intercept/patch/x86_64/operands.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

constexpr int register_words = 6;
constexpr std::size_t max_own_instructions = 6000;
constexpr std::size_t max_instructions_of_callees = 1500;
constexpr std::size_t steps_between_questions = 16;
constexpr int deepest = 3;

/// The number of the word that stands for rax: a caller tells a function with variable arguments there how many vector
/// registers it has filled.
constexpr int vector_count = ArgumentUse::max_words - 1;

/// What a register or a place on the stack holds.
struct Value {
  enum class Kind : std::uint8_t {
    unknown,
    stack,    ///< the stack pointer at entry, plus `number`
    word,     ///< the caller's word `number`
    derived,  ///< an address computed from the caller's word `number`
  };
  Kind kind = Kind::unknown;
  std::int64_t number = 0;

  bool is_stack() const { return kind == Kind::stack; }
  bool is_word() const { return kind == Kind::word; }
  bool is_of_word() const { return kind == Kind::word || kind == Kind::derived; }
};

struct State {
  std::array<Value, 16> registers{};
  std::uint32_t set_vectors = 0;                      ///< bit i: vector register i holds a value from this code
  std::vector<std::pair<std::int64_t, Value>> slots;  ///< stack slots, by their offset from the stack pointer at entry

  void store(std::int64_t offset, std::int64_t bytes, Value value) {
    for (auto& [at, held] : slots)
      if (at > offset && at < offset + bytes) held = {};
    for (auto& [at, held] : slots)
      if (at == offset) {
        held = value;
        return;
      }
    if (value.kind != Value::Kind::unknown) slots.emplace_back(offset, value);
  }
  Value load(std::int64_t offset) const {
    for (const auto& [at, held] : slots)
      if (at == offset) return held;
    // The caller's words lie above the return address.
    if (offset >= 8 && offset % 8 == 0) return {Value::Kind::word, register_words + offset / 8 - 1};
    return {};
  }
};

/// An address where code continues, and the state there.
struct Path {
  std::uint64_t address = 0;
  State state;
  int depth = 0;
};

constexpr int argument_registers[register_words] = {7, 6, 2, 1, 8, 9};  // rdi, rsi, rdx, rcx, r8, r9

State state_at_entry() {
  State state;
  for (int i = 0; i < register_words; ++i) state.registers[argument_registers[i]] = {Value::Kind::word, i};
  state.registers[rsp] = {Value::Kind::stack, 0};
  state.registers[rax] = {Value::Kind::word, vector_count};
  return state;
}

class Walk {
 public:
  using Enough = std::function<bool(const ArgumentUse&)>;

  Walk(const CodeRange& code, const CodeRange& function, const Enough& enough)
      : code_(code), end_(function.address + function.bytes.size()), enough_(enough) {
    go_on_at({function.address, state_at_entry(), 0});
  }

  ArgumentUses run() {
    use_.complete = true;
    while (!paths_.empty() && !done_) {
      // The function's own code comes before that of its callees.
      const auto next = std::min_element(paths_.begin(), paths_.end(),
                                         [](const Path& left, const Path& right) { return left.depth < right.depth; });
      Path path = std::move(*next);
      *next = std::move(paths_.back());
      paths_.pop_back();
      if (path.depth > 0 && !deeper_) {
        own_ = use_;
        instructions_ = 0;
        deeper_ = true;
      }
      follow(path);
    }
    use_.variadic = use_.words[vector_count].number;
    if (!deeper_) own_ = use_;
    own_.variadic = use_.variadic;
    return {own_, use_};
  }

 private:
  void go_on_at(Path path) {
    const bool inside = path.address >= code_.address && path.address - code_.address < code_.bytes.size();
    if (!inside || std::find(begun_.begin(), begun_.end(), path.address) != begun_.end()) return;
    begun_.push_back(path.address);
    paths_.push_back(std::move(path));
  }

  void follow(Path& path) {
    const auto offset = static_cast<std::size_t>(path.address - code_.address);
    Disassembly walk(Architecture::x86_64, code_.bytes.subspan(offset), path.address, Detail::arguments);
    for (;;) {
      const cs_insn* decoded = walk.next();
      const bool own = path.depth == 0;
      if (decoded == nullptr || ++instructions_ > (own ? max_own_instructions : max_instructions_of_callees)) {
        use_.complete &= !own;
        return;
      }
      // What the function's own code does at its end counts, too: a routine of the program's own may have more
      // arguments than the one of its name.
      if (!own && instructions_ % steps_between_questions == 0 && enough_(use_)) done_ = true;
      if (done_) return;
      const std::uint64_t behind = decoded->address + decoded->size;
      // An endbr64 behind a call that does not return begins the next function.
      if (decoded->id == X86_INS_ENDBR64 && decoded->address != path.address) return;
      if (!step(*decoded, path)) return;
      if (path.address < end_ && behind == end_) return;
      // A path has already begun there.
      if (std::find(begun_.begin(), begun_.end(), behind) != begun_.end()) return;
    }
  }

  /// Executes one instruction on the state. Returns false if the path ends.
  bool step(const cs_insn& decoded, Path& path) {
    const cs_x86& details = decoded.detail->x86;
    State& state = path.state;
    switch (decoded.id) {
      case X86_INS_ENDBR64:
      case X86_INS_NOP: return true;
      case X86_INS_RET:
      case X86_INS_RETF:
      case X86_INS_HLT:
      case X86_INS_UD2: return false;
      case X86_INS_PUSH: return push(decoded, state), true;
      case X86_INS_POP: return pop(details.operands[0], state), true;
      case X86_INS_LEAVE: state.registers[rsp] = state.registers[rbp]; return pop_into(rbp, state), true;
      case X86_INS_CALL: return call(decoded, path), true;
      case X86_INS_JMP: return jump(details.operands[0], path), false;
      case X86_INS_MOV:
      case X86_INS_MOVABS: return move(decoded, state), true;
      case X86_INS_LEA: return compute_address(details, state), true;
      case X86_INS_ADD:
      case X86_INS_SUB: return add(decoded, path), true;
      case X86_INS_AND: return mask(decoded, path), true;
      default: break;
    }
    if (in_group(decoded, CS_GRP_JUMP)) {
      if (details.op_count > 0 && details.operands[0].type == X86_OP_IMM)
        go_on_at({static_cast<std::uint64_t>(details.operands[0].imm), state, path.depth});
      return true;
    }
    return other(decoded, path), true;
  }

  WordUse* use_of(const Value& value) {
    if (!value.is_of_word()) return nullptr;
    const auto index = static_cast<std::size_t>(value.number);
    return index < use_.words.size() ? &use_.words[index] : nullptr;
  }

  /// Notes that a word itself is read: all of its bits or only the lower ones.
  void read_word(const Value& value, int bytes) {
    WordUse* const use = value.is_word() ? use_of(value) : nullptr;
    if (use == nullptr) return;
    use->read = true;
    if (bytes < 8) use->number = true;
    if (bytes == 4) use->narrow = true;
  }

  Value read(const cs_x86_op& operand, const cs_insn& decoded, State& state) {
    if (operand.type == X86_OP_MEM) return read_memory(operand, decoded, state);
    if (operand.type != X86_OP_REG) return {};
    const General name = general(operand.reg);
    if (name.number < 0) return {};
    const Value value = state.registers[name.number];
    read_word(value, name.bytes);
    return name.bytes == 8 ? value : Value{};
  }

  /// The address of a memory operand.
  struct Place {
    Value base;
    Value index;
    std::int64_t offset = 0;
    int scale = 1;
  };

  static Place place_of(const cs_x86_op& operand, const State& state) {
    const General base = general(operand.mem.base);
    const General index = general(operand.mem.index);
    return {base.number < 0 ? Value{} : state.registers[base.number],
            index.number < 0 ? Value{} : state.registers[index.number], operand.mem.disp, operand.mem.scale};
  }

  /// Returns the caller's word in whose memory a place lies.
  Value owner(const Place& place) {
    if (place.base.is_of_word()) return place.base;
    if (place.index.is_of_word() && place.scale == 1) return place.index;
    return {};
  }

  void note_index(const Place& place) {
    read_word(place.base, 8);
    read_word(place.index, 8);
    if (place.index.is_word() && place.scale > 1)
      if (WordUse* const use = use_of(place.index)) use->number = true;
  }

  Value read_memory(const cs_x86_op& operand, const cs_insn& decoded, State& state) {
    const Place place = place_of(operand, state);
    if (place.base.is_stack() && operand.mem.index == X86_REG_INVALID) {
      const Value held = state.load(place.base.number + place.offset);
      const Reals reals = reals_of(decoded);
      const bool as_real = reals == Reals::singles || reals == Reals::doubles;
      read_word(held, as_real ? 1 : operand.size);
      return operand.size == 8 && !as_real ? held : Value{};
    }
    touch(place, operand, decoded, false);
    return {};
  }

  void touch(const Place& place, const cs_x86_op& operand, const cs_insn& decoded, bool write) {
    note_index(place);
    const Value of = owner(place);
    WordUse* const use = use_of(of);
    if (use == nullptr) return;
    use->address = true;
    use->written |= write;
    const bool direct =
        of.is_word() && place.base.is_word() && operand.mem.index == X86_REG_INVALID && place.offset == 0;
    if (!direct) use->indexed = true;
    const Reals reals = reals_of(decoded);
    use->reals |= reals != Reals::none;
    use->singles |= reals == Reals::singles;
    use->doubles |= reals == Reals::doubles;
    if (direct && reals == Reals::none) use->integers |= operand.size;
  }

  void write(const cs_x86_op& operand, const cs_insn& decoded, const Value& value, State& state) {
    if (operand.type == X86_OP_REG) {
      const General name = general(operand.reg);
      if (name.number >= 0) state.registers[name.number] = name.bytes == 8 ? value : Value{};
      const int vector = vector_register(operand.reg);
      if (vector >= 0) state.set_vectors |= 1U << vector;
    } else if (operand.type == X86_OP_MEM) {
      const Place place = place_of(operand, state);
      if (place.base.is_stack() && operand.mem.index == X86_REG_INVALID)
        state.store(place.base.number + place.offset, operand.size, operand.size == 8 ? value : Value{});
      else
        touch(place, operand, decoded, true);
    }
  }

  void push(const cs_insn& decoded, State& state) {
    const Value value = read(decoded.detail->x86.operands[0], decoded, state);
    Value& top = state.registers[rsp];
    if (!top.is_stack()) return;
    top.number -= 8;
    state.store(top.number, 8, value);
  }

  void pop(const cs_x86_op& operand, State& state) {
    const General name = operand.type == X86_OP_REG ? general(operand.reg) : General{};
    pop_into(name.number, state);
  }

  void pop_into(int number, State& state) {
    Value& top = state.registers[rsp];
    const Value value = top.is_stack() ? state.load(top.number) : Value{};
    if (top.is_stack()) top.number += 8;
    if (number >= 0) state.registers[number] = value;
  }

  void call(const cs_insn& decoded, Path& path) {
    const cs_x86_op& target = decoded.detail->x86.operands[0];
    State& state = path.state;
    if (target.type == X86_OP_IMM) {
      if (path.depth < deepest) {
        Path callee{static_cast<std::uint64_t>(target.imm), state, path.depth + 1};
        Value& top = callee.state.registers[rsp];
        if (top.is_stack()) top.number -= 8;
        go_on_at(std::move(callee));
      }
    } else {
      read(target, decoded, state);
      if (path.depth == 0) use_.handed_on = std::max(use_.handed_on, words_in_place(state));
    }
    for (const int changed : {0, 1, 2, 6, 7, 8, 9, 10, 11}) state.registers[changed] = {};
    state.set_vectors = UINT32_MAX;
  }

  /// Returns how many words a callee finds where this function found them.
  static std::size_t words_in_place(const State& state) {
    const Value top = state.registers[rsp];
    std::size_t count = 0;
    for (;; ++count) {
      const auto number = static_cast<std::int64_t>(count);
      const Value held = count < register_words ? state.registers[argument_registers[count]]
                         : top.is_stack()       ? state.load(top.number + 8 * (number - register_words))
                                                : Value{};
      if (!held.is_word() || held.number != number) return count;
    }
  }

  void jump(const cs_x86_op& target, Path& path) {
    if (target.type == X86_OP_IMM) return go_on_at({static_cast<std::uint64_t>(target.imm), path.state, path.depth});
    // The jump leaves the object through its linkage table, or goes to a computed address.
    const bool by_table = target.type == X86_OP_MEM && target.mem.base == X86_REG_RIP;
    if (!by_table) use_.complete &= path.depth > 0;
  }

  void move(const cs_insn& decoded, State& state) {
    const cs_x86& details = decoded.detail->x86;
    const Value value = read(details.operands[1], decoded, state);
    write(details.operands[0], decoded, value, state);
  }

  void compute_address(const cs_x86& details, State& state) {
    const Place place = place_of(details.operands[1], state);
    const bool plain = details.operands[1].mem.index == X86_REG_INVALID;
    const General name = general(details.operands[0].reg);
    if (name.bytes < 8) {
      read_number(place.base);
      read_number(place.index);
      if (name.number >= 0) state.registers[name.number] = {};
      return;
    }
    note_index(place);
    Value result;
    if (place.base.is_stack() && plain) result = {Value::Kind::stack, place.base.number + place.offset};
    if (const Value of = owner(place); of.is_of_word()) result = derived(of);
    if (name.number >= 0) state.registers[name.number] = result;
  }

  Value derived(const Value& of) {
    if (WordUse* const use = use_of(of)) {
      use->read = true;
      use->indexed = true;
    }
    return {Value::Kind::derived, of.number};
  }

  void add(const cs_insn& decoded, Path& path) {
    State& state = path.state;
    const cs_x86& details = decoded.detail->x86;
    const cs_x86_op& to = details.operands[0];
    const cs_x86_op& by = details.operands[1];
    const bool in_register = to.type == X86_OP_REG && general(to.reg).bytes == 8;
    if (!in_register) return other(decoded, path);
    Value& result = state.registers[general(to.reg).number];
    const Value held = result;
    if (held.is_stack() && by.type == X86_OP_IMM) {
      result.number += decoded.id == X86_INS_ADD ? by.imm : -by.imm;
      return;
    }
    if (general(to.reg).number == rsp) return begin_frame(state);
    const bool same = by.type == X86_OP_REG && by.reg == to.reg;
    const Value added = same ? Value{} : read(by, decoded, state);
    if (same) {
      if (decoded.id == X86_INS_ADD) read_number(held);
      result = {};
    } else if (held.is_of_word()) {
      result = derived(held);
    } else {
      result = added.is_of_word() && decoded.id == X86_INS_ADD ? derived(added) : Value{};
    }
  }

  void read_number(const Value& value) {
    WordUse* const use = value.is_word() ? use_of(value) : nullptr;
    if (use == nullptr) return;
    use->read = true;
    use->number = true;
  }

  /// The stack pointer is aligned, or lowered by an unknown amount. What is stored from now on must not be confused
  /// with what was stored before.
  void begin_frame(State& state) {
    constexpr std::int64_t apart = 1 << 20;
    frames_ += apart;
    state.registers[rsp] = {Value::Kind::stack, -frames_};
  }

  void mask(const cs_insn& decoded, Path& path) {
    const cs_x86_op& to = decoded.detail->x86.operands[0];
    if (to.type == X86_OP_REG && to.reg == X86_REG_RSP) return begin_frame(path.state);
    other(decoded, path);
  }

  void other(const cs_insn& decoded, Path& path) {
    State& state = path.state;
    const cs_x86& details = decoded.detail->x86;
    const bool clear = clears(decoded);
    const bool keeps = compares(decoded) || copies_if(decoded) || moves(decoded);
    // A move or conversion into a part of a register leaves the rest of it. That rest is not read as an argument.
    const bool fills = fills_part(decoded);
    for (int i = 0; i < details.op_count && !clear; ++i) {
      const cs_x86_op& operand = details.operands[i];
      if (!reads(decoded, i)) continue;
      if (const int vector = operand.type == X86_OP_REG ? vector_register(operand.reg) : -1; vector >= 0) {
        if (vector < 8 && path.depth == 0 && (state.set_vectors >> vector & 1U) == 0 && !(fills && i == 0))
          use_.reals |= 1U << vector;
        continue;
      }
      const Value value = read(operand, decoded, state);
      if (!keeps) read_number(value);
    }
    for (int i = 0; i < details.op_count; ++i) {
      const cs_x86_op& operand = details.operands[i];
      if (writes(decoded, i) && !(copies_if(decoded) && operand.type == X86_OP_REG)) write(operand, decoded, {}, state);
    }
    for (int i = 0; i < decoded.detail->regs_write_count; ++i) {
      const General name = general(decoded.detail->regs_write[i]);
      if (name.number >= 0 && name.number != rsp) state.registers[name.number] = {};
    }
  }

  const CodeRange& code_;
  const std::uint64_t end_;
  const Enough& enough_;
  ArgumentUse use_;
  ArgumentUse own_;  ///< use_ as it was before callees were followed
  bool deeper_ = false;
  std::vector<Path> paths_;
  std::vector<std::uint64_t> begun_;  ///< addresses where paths have begun
  std::size_t instructions_ = 0;
  std::int64_t frames_ = 0;
  bool done_ = false;
};

}  // namespace

ArgumentUses argument_use(const CodeRange& code, const CodeRange& function,
                          const std::function<bool(const ArgumentUse&)>& enough) {
  return Walk(code, function, enough).run();
}

}  // namespace blastoff::intercept::patch::x86_64
