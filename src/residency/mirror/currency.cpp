#include "residency/mirror/currency.h"

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

using platform::Span;

bool Currency::on_page(const Chunk& chunk, Span page) const {
  const std::size_t number = page_numbers(page).first;
  if (!tracked_ || !chunk.current.test(number)) return false;
  if (!chunk.partial.test(number)) return true;
  bool current = true;
  each_span_within(operand_, page, [&](Span span) { current = current && chunk.used->all(span); });
  return current;
}

void make_current(Chunk& chunk, Span page, const operation::Operand& operand) {
  const std::size_t number = page_numbers(page).first;
  const bool anew = !chunk.current.test(number);
  if (!anew && !chunk.partial.test(number)) return;
  bool filled = false;
  each_span_within(operand, page, [&](Span span) { filled = span == page; });
  if (filled) return make_wholly_current(chunk, page);
  if (!chunk.used) chunk.used = std::make_unique<UsedBytes>();
  UsedBytes& used = *chunk.used;
  if (anew) {
    used.clear(page);
    used.forget_others(page, operand);
    chunk.current.set(number, number + 1);
    chunk.partial.set(number, number + 1);
  }
  each_span_within(operand, page, [&](Span span) { used.set(span); });
  if (used.all(page)) chunk.partial.clear(number, number + 1);
}

void make_wholly_current(Chunk& chunk, Span pages) {
  const PageNumbers numbers = page_numbers(pages);
  chunk.current.set(numbers.first, numbers.last);
  chunk.partial.clear(numbers.first, numbers.last);
}

void Examined::end(const operation::Operand& operand) {
  for (Chunk* chunk : chunks_)
    if (chunk->used && !chunk->used->remembers(operand)) chunk->used->remember(operand);
}

}  // namespace blastoff::residency::mirror
