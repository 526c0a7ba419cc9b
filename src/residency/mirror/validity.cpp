#include "residency/mirror/validity.h"

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

using platform::Span;

bool Validity::on_page(const ledger::Copy& copy, Span page) const {
  const std::size_t number = page_numbers(page).first;
  if (!tracked_ || !copy.current.test(number)) return false;
  if (!copy.partial.test(number)) return true;
  bool current = true;
  each_span_within(operand_, page, [&](Span span) { current = current && copy.used->all(span); });
  return current;
}

void make_current(Chunk& chunk, Span page, const operation::Operand& operand) {
  ledger::Copy& copy = *chunk.copy;
  const std::size_t number = page_numbers(page).first;
  const bool anew = !copy.current.test(number);
  if (!anew && !copy.partial.test(number)) return;
  bool filled = false;
  each_span_within(operand, page, [&](Span span) { filled = span == page; });
  if (filled) return make_wholly_current(copy, page);
  if (!chunk.known) chunk.known = std::make_unique<KnownOperands>();
  if (!copy.used) copy.used = std::make_unique<ledger::UsedBytes>();
  ledger::UsedBytes& used = *copy.used;
  if (anew) {
    used.clear(page);
    chunk.known->forget_others(page, operand);
    copy.current.set(number, number + 1);
    copy.partial.set(number, number + 1);
  }
  each_span_within(operand, page, [&](Span span) { used.set(span); });
  if (used.all(page)) copy.partial.clear(number, number + 1);
}

void make_wholly_current(ledger::Copy& copy, Span pages) {
  const PageNumbers numbers = page_numbers(pages);
  copy.current.set(numbers.first, numbers.last);
  copy.partial.clear(numbers.first, numbers.last);
}

void Examined::end(const operation::Operand& operand) {
  for (Chunk* chunk : chunks_)
    if (chunk->known && !chunk->known->remembers(operand)) chunk->known->remember(operand);
}

}  // namespace blastoff::residency::mirror
