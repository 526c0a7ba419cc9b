#include "platform/memory_map.h"

#include <algorithm>

#include "platform/mappings.h"

namespace blastoff::platform {
namespace {

bool same_protection(const KernelMapping& a, const KernelMapping& b) {
  return a.readable == b.readable && a.writable == b.writable && a.executable == b.executable;
}

bool alike(const KernelMapping& a, const KernelMapping& b) {
  return a.kind == b.kind && same_protection(a, b);
}

std::uintptr_t extend_down(Mappings& mappings, const KernelMapping& first) {
  std::uintptr_t begin = first.span.begin;
  while (begin > 0) {
    const auto below = mappings.describe(begin - 1);
    if (!below || !alike(*below, first)) break;
    begin = below->span.begin;
  }
  return begin;
}

std::uintptr_t extend_up(Mappings& mappings, const KernelMapping& last) {
  std::uintptr_t end = last.span.end;
  for (;;) {
    const auto above = mappings.describe(end);
    if (!above || !alike(*above, last)) break;
    end = above->span.end;
  }
  return end;
}

}  // namespace

const char* describe(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::anonymous: return "private anonymous memory";
    case MemoryKind::object_data: return "initialised data of the program";
    case MemoryKind::stack: return "the main thread's stack";
    case MemoryKind::shared: return "shared memory";
    case MemoryKind::file: return "a mapped file";
    case MemoryKind::huge_tlb: return "hugetlbfs memory";
    case MemoryKind::other: return "memory of an unknown kind";
  }
  return "";
}

Mapping find_mapping(Span span) {
  Mappings mappings;
  const auto first = mappings.describe(span.begin);
  if (!first || span.empty()) return {MemoryKind::other, span};

  KernelMapping last = *first;
  bool uniform = true;
  MemoryKind worst = first->kind;
  while (last.span.end < span.end) {
    const auto next = mappings.describe(last.span.end);
    if (!next) return {MemoryKind::other, span};
    const bool both_private = is_private_data(next->kind) && is_private_data(first->kind);
    uniform = uniform && (both_private ? same_protection(*next, *first) : alike(*next, *first));
    worst = std::max(worst, next->kind);
    last = *next;
  }
  if (!uniform) return {worst, span};

  const Span extent = {extend_down(mappings, *first), extend_up(mappings, last)};
  // If the stack's mapping was split, only its topmost piece keeps the name. The guard gap keeps other mappings away
  // from the stack.
  const auto above = mappings.covering(extent.end);
  if (worst == MemoryKind::anonymous && above && above->kind == MemoryKind::stack) worst = MemoryKind::stack;
  return {worst, extent};
}

std::optional<bool> writable(Span span, bool at_any_price) {
  Mappings mappings;
  if (!at_any_price && !mappings.answer_questions()) return std::nullopt;
  for (std::uintptr_t at = span.begin; at < span.end;) {
    const auto mapping = mappings.covering(at);
    if (!mapping || !mapping->writable) return false;
    at = mapping->span.end;
  }
  return true;
}

}  // namespace blastoff::platform
