// Patches functions of the calling program, and checks that they still compute the same results.
#include "harness.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "intercept/patch/relocator.h"

namespace patch = blastoff::intercept::patch;

namespace {

#if defined(__x86_64__)
constexpr auto native = patch::Architecture::x86_64;
constexpr std::array<std::uint32_t, 2> jump_to_what_follows{0x25ff9090, 0};  // nop; nop; jmp *[rip + 0]
#elif defined(__aarch64__)
constexpr auto native = patch::Architecture::aarch64;
constexpr std::array<std::uint32_t, 2> jump_to_what_follows{0x58000051, 0xd61f0220};  // ldr x17, 8; br x17
#endif

constexpr std::size_t page_size = 65536;  // a multiple of every machine's page size
constexpr std::size_t trampoline_offset = 256;

/// The function and the action under way, for the signal handler.
const char* current_name = "";
const char* current_action = "";

void die(int number) {
  std::array<char, 256> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "signal %d: %s of %s\n", number, current_action, current_name);
  if (write(STDERR_FILENO, text.data(), static_cast<std::size_t>(length)) < 0) _exit(98);
  _exit(99);
}

void die_with_a_message() {
  alignas(16) static std::array<char, 65536> stack;
  const stack_t alternate{stack.data(), 0, stack.size()};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = die;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGALRM}) sigaction(number, &action, nullptr);
  alarm(100);
}

fuzz_function trampoline;
int hits;

word hook(word a, word b, word* p, double x, word c, word d, word e, double y, word s, word t, word u) {
  ++hits;
  return trampoline(a, b, p, x, c, d, e, y, s, t, u);
}

struct Outcome {
  word result;
  word calls;
  word variables;
  std::array<word, 16> memory;
  bool operator==(const Outcome&) const = default;
};

Outcome call(const fuzz_program& program, fuzz_function function, word seed) {
  Outcome outcome{};
  for (word& value : outcome.memory) value = seed = seed * 6364136223846793005 + 1442695040888963407;
  const auto argument = [&](int index) { return outcome.memory[static_cast<std::size_t>(index)] >> 40U; };
  const auto x = static_cast<double>(argument(6));
  const auto y = static_cast<double>(argument(7)) / 64;
  program.reset();
  fuzz_calls = 0;
  outcome.result = function(argument(0), argument(1), outcome.memory.data(), x, argument(2), argument(3), argument(4),
                            y, argument(5), argument(8), argument(9));
  outcome.calls = fuzz_calls;
  outcome.variables = program.checksum();
  return outcome;
}

std::byte* map_at(std::uintptr_t address) {
  void* memory = mmap(reinterpret_cast<void*>(address), page_size, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(memory) == address) return static_cast<std::byte*>(memory);
  munmap(memory, page_size);
  return nullptr;
}

/// Maps memory within 100 MiB of a function (`near`), or outside of that range.
std::byte* map(std::uintptr_t function, bool near) {
  constexpr std::uintptr_t step = 1 << 20;
  const std::uintptr_t start = near ? function / step * step : std::uintptr_t{1} << 37U;
  for (std::uintptr_t distance = 1; distance < 100; ++distance) {
    for (const std::uintptr_t address : {start + distance * step, start - distance * step}) {
      if (std::byte* memory = map_at(address)) return memory;
    }
  }
  std::fputs("no memory for trampolines\n", stderr);
  _exit(97);
}

/// Writes into code, which stays writable.
void put(void* where, const void* what, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(where) / page_size * page_size;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(where) + size;
  // Goes page by page, since not all of the last 64 KiB may be mapped.
  for (std::uintptr_t page = begin; page < end; page += 4096) {
    mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  }
  std::memcpy(where, what, size);
  __builtin___clear_cache(static_cast<char*>(where), static_cast<char*>(where) + size);
}

std::size_t size_of(const fuzz_case& one) {
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(reinterpret_cast<void*>(one.function), &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr) {
    std::fprintf(stderr, "%s has no symbol\n", one.name);
    _exit(97);
  }
  return symbol->st_size;
}

/// The function's code, and the bytes between it and the next known function.
patch::FunctionCode code_of(const fuzz_program& program, const fuzz_case& one) {
  const auto* begin = reinterpret_cast<const std::byte*>(one.function);
  const std::size_t size = size_of(one);
  std::size_t padding = 0;
  for (int i = 0; i < program.count; ++i) {
    const auto* other = reinterpret_cast<const std::byte*>(program.cases[i].function);
    const auto room = static_cast<std::size_t>(other - (begin + size));
    if (other >= begin + size && (padding == 0 || room < padding)) padding = room;
  }
  return {{begin, size}, padding, reinterpret_cast<std::uint64_t>(begin)};
}

class Fuzz {
 public:
  explicit Fuzz(const fuzz_program& program) : program_(program) {}

  void check(const fuzz_case& one, bool near) {
    current_name = one.name;
    const patch::FunctionCode code = code_of(program_, one);
    std::byte*& memory = near ? near_memory_ : far_memory_;
    if (memory == nullptr) memory = map(code.address, near);
    put(memory, jump_to_what_follows.data(), sizeof jump_to_what_follows);
    const auto target = reinterpret_cast<std::uint64_t>(&hook);
    put(memory + sizeof jump_to_what_follows, &target, sizeof target);

    const auto stub = reinterpret_cast<std::uint64_t>(memory);
    const auto patch = patch::relocator(native).patch(code, stub, stub + trampoline_offset);
    ++counts_[(near ? "near: " : "far: ") + std::string(patch ? "patched" : to_string(patch.error()))];
    if (patch) compare(one, *patch, memory + trampoline_offset);
  }

  int report() const {
    for (const auto& [what, count] : counts_) std::printf("%d %s\n", count, what.c_str());
    return failed_;
  }

 private:
  static constexpr word seeds = 12;

  void compare(const fuzz_case& one, const patch::FunctionPatch& patch, std::byte* relocated) {
    std::vector<Outcome> expected;
    current_action = "a call";
    for (word seed = 0; seed < seeds; ++seed) expected.push_back(call(program_, one.function, seed));

    std::byte* place = reinterpret_cast<std::byte*>(one.function) + patch.offset;
    const std::vector<std::byte> before(place, place + patch.jump.size());
    put(relocated, patch.trampoline.data(), patch.trampoline.size());
    put(place, patch.jump.data(), patch.jump.size());
    trampoline = reinterpret_cast<fuzz_function>(relocated);
    for (word seed = 0; seed < seeds; ++seed) {
      current_action = "a patched call";
      hits = 0;
      const bool right = call(program_, one.function, seed) == expected[seed];
      if (!right || hits == 0) fail(one, right ? "does not reach the hook" : "computes something else when patched");
      current_action = "a call of the trampoline";
      if (call(program_, trampoline, seed) != expected[seed])
        fail(one, "has a trampoline that computes something else");
    }
    put(place, before.data(), before.size());
  }

  void fail(const fuzz_case& one, const char* what) {
    std::fprintf(stderr, "%s %s\n", one.name, what);
    failed_ = 1;
  }

  const fuzz_program& program_;
  std::byte* near_memory_ = nullptr;
  std::byte* far_memory_ = nullptr;
  std::map<std::string, int> counts_;
  int failed_ = 0;
};

}  // namespace

word fuzz_calls;

word fuzz_outside(word value) {
  fuzz_calls = fuzz_calls * 31 + value;
  return value * 0x9e3779b97f4a7c15 >> 8U;
}

int fuzz_relocator(const fuzz_program* program) {
  die_with_a_message();
  Fuzz fuzz(*program);
  for (int i = 0; i < program->count; ++i) {
    fuzz.check(program->cases[i], true);
    fuzz.check(program->cases[i], false);
  }
  return fuzz.report();
}
