#include "operation/front_end.h"

#include <algorithm>
#include <array>
#include <span>

namespace blastoff::operation {
namespace {

constexpr std::size_t max_front_ends = 8;
constinit std::array<const FrontEnd*, max_front_ends> front_ends{};
constinit std::size_t front_end_count = 0;

}  // namespace

void add_front_end(FrontEnd& front_end) {
  const auto added = std::span(front_ends).first(front_end_count);
  if (std::ranges::find(added, &front_end) != added.end()) return;
  front_end.first_routine_ = static_cast<RoutineId>(routine_count());
  front_ends[front_end_count++] = &front_end;
}

std::size_t routine_count() {
  if (front_end_count == 0) return 0;
  const FrontEnd& last = *front_ends[front_end_count - 1];
  return last.first_routine() + last.routine_count();
}

const char* routine_name(RoutineId routine) {
  std::size_t i = front_end_count;
  while (i > 0 && front_ends[i - 1]->first_routine() > routine) --i;
  return i == 0 ? "" : front_ends[i - 1]->routine_name(routine - front_ends[i - 1]->first_routine());
}

const char* Operation::name() const {
  return front_end_->routine_name(static_cast<std::size_t>(routine_ - front_end_->first_routine()));
}

std::string Operation::arguments() const {
  return front_end_->arguments(*this);
}

std::vector<Operation> pieces(const Operation& operation, std::size_t piece_bytes) {
  if (operation.cutting == Cutting::none) return {operation};
  return operation.front_end().pieces(operation, piece_bytes);
}

std::vector<std::vector<Operation>> blocks(const Operation& operation, std::size_t bytes) {
  return operation.front_end().blocks(operation, bytes);
}

std::vector<std::vector<Operation>> parts(const Operation& operation, int count) {
  return operation.front_end().parts(operation, count);
}

}  // namespace blastoff::operation
