#include "intercept/patch/patcher.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "intercept/patch/architecture.h"
#include "intercept/patch/entry_stub.h"
#include "intercept/patch/hooks.h"
#include "intercept/patch/patched_function.h"
#include "intercept/patch/relocator.h"
#include "platform/code_memory.h"
#include "platform/pages_of_file.h"

namespace blastoff::intercept {
namespace {

using patch::Obstacle;
using platform::CodePage;
using platform::Span;

/// Each function's part of the code page: its entry stub, its trampoline, and the code that reverses instructions
/// before a jump.
constexpr std::size_t slot_bytes = patch::longest_entry_stub + patch::longest_trampoline + patch::longest_undo_and_jump;

/// Pages for code that must begin within a small range of addresses.
class Islands {
 public:
  /// Returns room for `bytes` that begins between `first` and `last`; nullopt: there is none.
  std::optional<Span> place(std::uintptr_t first, std::uintptr_t last, std::size_t bytes) {
    for (CodePage& page : pages_) {
      const std::uintptr_t begin = std::max(first, used(page));
      if (page.span.begin > last || begin > last || !page.span.contains({begin, begin + bytes})) continue;
      page.content.resize(begin + bytes - begin_of(page));
      return Span{begin, begin + bytes};
    }
    const auto place = platform::reserve_between(first, last, bytes);
    if (!place) return std::nullopt;
    const Span span = platform::outward_to_pages(*place);
    pages_.push_back({span, std::vector<std::byte>(bytes), place->begin - span.begin});
    return place;
  }

  /// Undoes the last place().
  void give_back(Span place) {
    const auto page = std::ranges::find(pages_, place.end, used);
    page->content.resize(place.begin - begin_of(*page));
    if (!page->content.empty()) return;
    platform::release(page->span);
    pages_.erase(page);
  }

  void put(std::uintptr_t address, const std::vector<std::byte>& code) {
    const auto page = std::ranges::find_if(pages_, [&](const CodePage& each) {
      return each.span.contains({address, address + code.size()});
    });
    std::ranges::copy(code, page->content.begin() + static_cast<std::ptrdiff_t>(address - begin_of(*page)));
  }

  /// Maps the pages and adds them to `code`. Returns false if the system does not allow it.
  bool map(std::vector<Span>& code) {
    const std::vector<CodePage> pages = std::exchange(pages_, {});
    if (!platform::map_pages_of_code(pages)) return false;
    for (const CodePage& page : pages) code.push_back(page.span);
    return true;
  }

 private:
  static std::uintptr_t begin_of(const CodePage& page) { return page.span.begin + page.offset; }
  static std::uintptr_t used(const CodePage& page) { return begin_of(page) + page.content.size(); }

  std::vector<CodePage> pages_;
};

/// The memory from the first to the last of these functions. `span_of` returns the memory of one.
template <class Functions, class SpanOf>
Span memory_of(const Functions& functions, const SpanOf& span_of) {
  Span memory{UINTPTR_MAX, 0};
  for (const auto& function : functions) {
    const Span span = span_of(function);
    memory = {std::min(memory.begin, span.begin), std::max(memory.end, span.end)};
  }
  return memory;
}

Span memory_of(const BlasFunctions& found, std::uintptr_t bias) {
  return memory_of(found.functions, [bias](const BlasFunction& function) {
    return Span{bias + function.address, bias + function.address + function.room};
  });
}

/// A function that is being patched.
struct Candidate {
  const BlasFunction* blas;
  std::uintptr_t address;
  std::span<const std::byte> code;  ///< its room, in the file
  std::unique_ptr<PatchedFunction> function;
  patch::FunctionPatch change;
};

class Transaction {
 public:
  Transaction(const LoadedObject& object, InstanceNumber instance, Loaded loaded, const ObjectFile& file,
              const BlasFunctions& found, Library* to_ask, PatchedObject& outcome)
      : object_(object),
        instance_(instance),
        loaded_(loaded),
        file_(file),
        to_ask_(to_ask),
        outcome_(outcome),
        unchanged_(memory_of(found, object.bias), file.number()) {}

  void run(const BlasFunctions& found) {
    for (const BlasFunction& function : found.functions) consider(function);
    if (candidates_.empty()) return;
    const std::optional<Span> place = reserve();
    if (!place) return refuse_all(Obstacle::no_memory);
    prepare(*place, found);
    if (candidates_.empty()) return platform::release(*place);
    if (!platform::map_code(*place, code_)) return refuse_all(Obstacle::no_memory);
    commit(*place);
  }

 private:
  void refuse(const BlasFunction& function, Obstacle obstacle) {
    outcome_.refused.push_back({function.names.front(), obstacle});
  }

  void refuse_all(Obstacle obstacle) {
    for (const Candidate& candidate : candidates_) refuse(*candidate.blas, obstacle);
  }

  void consider(const BlasFunction& function) {
    const std::uintptr_t address = object_.bias + function.address;
    const auto linked = file_.bytes(function.address, function.room);
    if (function.indirect) return refuse(function, Obstacle::indirect);
    if (linked.size() < function.room) return refuse(function, Obstacle::not_writable);
    if (!unchanged_.hold({address, address + function.room}) &&
        std::memcmp(linked.data(), reinterpret_cast<const void*>(address), function.room) != 0)
      return refuse(function, Obstacle::patched_already);
    candidates_.push_back({&function, address, linked, nullptr, {}});
  }

  Span code_span() const {
    return memory_of(candidates_, [](const Candidate& candidate) {
      return Span{candidate.address, candidate.address + candidate.blas->room};
    });
  }

  std::optional<Span> reserve() const {
    const std::size_t bytes = candidates_.size() * slot_bytes;
    const auto near = platform::reserve_near(code_span(), bytes, patch::native_short_reach);
    return near ? near : platform::reserve_near(code_span(), bytes, UINT64_MAX);
  }

  /// Prepares the code page, and the bytes to be written into each function. Drops functions that cannot be patched.
  void prepare(Span place, const BlasFunctions& found) {
    code_.resize(candidates_.size() * slot_bytes);
    std::size_t offset = 0;
    for (Candidate& candidate : candidates_) {
      const BlasFunction& blas = *candidate.blas;
      const std::uintptr_t hook = place.begin + offset;
      const std::uintptr_t trampoline = hook + patch::longest_entry_stub;
      patch::CodeRange all = file_.code_around(blas.address);
      all.address += object_.bias;
      const patch::FunctionCode code{
          candidate.code.first(blas.size), blas.room - blas.size, candidate.address, all, false, &known_};
      auto change = change_of(code, hook, trampoline, offset);
      if (!change) {
        refuse(blas, change.error());
        continue;
      }
      candidate.change = std::move(*change);
      candidate.function = describe(candidate, trampoline, found);
      place_code(offset, patch::entry_stub(patch::native, reinterpret_cast<std::uintptr_t>(candidate.function.get()),
                                           reinterpret_cast<std::uintptr_t>(patch::hooks_entrance())));
      place_code(offset + patch::longest_entry_stub, candidate.change.trampoline);
      offset += slot_bytes;
    }
    std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.function == nullptr; });
  }

  tl::expected<patch::FunctionPatch, Obstacle> change_of(const patch::FunctionCode& code, std::uintptr_t stub,
                                                         std::uintptr_t trampoline, std::size_t offset) {
    if (running_) {
      auto change = patch_running(code, stub, trampoline, offset);
      if (change || loaded_ == Loaded::before) return change;
    }
    return patch::relocator(patch::native).patch(code, stub, trampoline);
  }

  /// Uses a place for a jump from which memory for our code can be reached, if possible the page of the function's
  /// trampoline, or else one that other functions use too: so the place that reaches most comes first.
  tl::expected<patch::FunctionPatch, Obstacle> patch_running(const patch::FunctionCode& code, std::uintptr_t stub,
                                                             std::uintptr_t trampoline, std::size_t offset) {
    Obstacle obstacle = Obstacle::in_use;
    std::vector<patch::JumpPlace> places = patch::relocator(patch::native).jump_places(code);
    std::ranges::stable_sort(places, std::greater(),
                             [](const patch::JumpPlace& place) { return place.last_target - place.first_target; });
    const std::uintptr_t own = trampoline + patch::longest_trampoline;
    for (const patch::JumpPlace& place : places) {
      const bool near = place.first_target <= own && own <= place.last_target;
      const auto island =
          near ? std::nullopt : islands_.place(place.first_target, place.last_target, patch::longest_undo_and_jump);
      if (!near && !island) continue;
      const std::uintptr_t target = near ? own : island->begin;
      auto change = patch::relocator(patch::native).patch_running(code, place, target, trampoline);
      if (!change) {
        obstacle = change.error();
        if (island) islands_.give_back(*island);
        continue;
      }
      const std::vector<std::byte> undo = patch::relocator(patch::native).undo_and_jump(place, target, stub);
      if (near)
        place_code(offset + own - stub, undo);
      else
        islands_.put(target, undo);
      return change;
    }
    return tl::unexpected(obstacle);
  }

  void place_code(std::size_t offset, const std::vector<std::byte>& code) {
    std::copy(code.begin(), code.end(), code_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  std::unique_ptr<PatchedFunction> describe(const Candidate& candidate, std::uintptr_t trampoline,
                                            const BlasFunctions& found) const {
    const BlasFunction& blas = *candidate.blas;
    auto function = std::make_unique<PatchedFunction>();
    function->hook = blas.routine.table->hook(blas.convention.style, blas.routine.number);
    function->symbol = blas.names.front();
    function->prefix = blas.prefix;
    function->suffix = blas.suffix;
    function->entry = {function->symbol.c_str(), function->prefix.c_str(),
                       function->suffix.c_str(), blas.routine,
                       blas.convention,          false};
    function->original.function = reinterpret_cast<void*>(trampoline);
    function->original.convention = blas.convention;
    function->original.to_ask = blas.certain ? nullptr : to_ask_;
    function->original.companion = companion_of(blas, found);
    function->address = reinterpret_cast<const void*>(candidate.address);
    return function;
  }

  void* companion_of(const BlasFunction& blas, const BlasFunctions& found) const {
    const Routine beside = intercept::companion_of(blas.routine);
    const BlasFunction* const companion = beside == blas.routine ? nullptr : sibling(found, blas, beside);
    const bool callable = companion != nullptr && !companion->indirect;
    return callable ? reinterpret_cast<void*>(object_.bias + companion->address) : nullptr;
  }

  void commit(Span place) {
    platform::CodeWriter writer(code_span());
    PatchRecord record = make_record({instance_, {}, {place}});
    PatchedCode& patched = record.front();
    const bool writable = !running_ || loaded_ == Loaded::just_now || writer.writes_at_once();
    if (!islands_.map(patched.code) || !writable) {
      for (const Span span : patched.code) platform::release(span);
      return refuse_all(writable ? Obstacle::no_memory : Obstacle::not_writable);
    }
    // A jump leads nowhere without a record. So everything that allocates memory comes before the first jump.
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates_) names.push_back(candidate.blas->names.front());
    patched.functions.reserve(candidates_.size());
    outcome_.patched.reserve(candidates_.size());
    outcome_.refused.reserve(outcome_.refused.size() + candidates_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      // The function may be called as soon as the jump is written, so its record is made first.
      const std::uintptr_t address = candidates_[i].address + candidates_[i].change.offset;
      if (!writer.write(address, candidates_[i].change.jump)) {
        outcome_.refused.push_back({std::move(names[i]), Obstacle::not_writable});
        continue;
      }
      outcome_.patched.push_back(std::move(names[i]));
      if (patched.functions.empty()) mark_instance(instance_, address, candidates_[i].change.jump);
      patched.functions.push_back(std::move(candidates_[i].function));
    }
    publish(std::move(record));
  }

  const LoadedObject& object_;
  const InstanceNumber instance_;
  const Loaded loaded_;
  const ObjectFile& file_;
  Library* const to_ask_;
  PatchedObject& outcome_;
  const platform::PagesOfFile unchanged_;
  std::vector<Candidate> candidates_;
  std::vector<std::byte> code_;
  Islands islands_;
  patch::CallsOfOthers known_;
  const bool running_ = platform::has_other_threads();
};

}  // namespace

PatchedObject patch_object(const LoadedObject& object, InstanceNumber instance, Loaded loaded, const ObjectFile& file,
                           const BlasFunctions& found, Library* to_ask) {
  PatchedObject outcome{object.path, {}, {}, found.left_alone, 0};
  Transaction(object, instance, loaded, file, found, to_ask, outcome).run(found);
  return outcome;
}

}  // namespace blastoff::intercept
