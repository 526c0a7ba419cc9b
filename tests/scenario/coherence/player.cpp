#include "player.h"

#include <alloca.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace coherence {
namespace {

using blas::Scalar;

constexpr Scalar scalars[] = {Scalar::s, Scalar::d, Scalar::c, Scalar::z};
constexpr std::size_t max_threads = 16;
constexpr std::size_t matrices_per_scalar = 3;

// A program's static data: zero-initialised, and initialised from the executable's file. The threads' parts share
// pages.
constexpr std::int64_t static_rows = 70, static_columns = 50;
constexpr std::size_t static_bytes = static_rows * static_columns * 16;
alignas(16) char zero_initialised[max_threads][static_bytes];
alignas(16) char initialised[max_threads][static_bytes] = {{1}};

}  // namespace

Player::Player(const Options& options, Common& common, std::int64_t thread, std::int64_t round)
    : options_(options),
      common_(common),
      thread_(thread),
      round_(round),
      magnitude_(0.5 / static_cast<double>(options.max_size)),
      random_(options.seed, static_cast<std::uint64_t>(round * 1000 + thread)),
      onlooker_(options.seed, static_cast<std::uint64_t>(round * 1000 + thread + 500)) {
  for (const Scalar scalar : scalars) {
    for (std::size_t i = 0; i < matrices_per_scalar; ++i) matrices_.push_back(new_matrix(scalar));
  }
  add_static_matrices();
}

std::unique_ptr<Matrix> Player::borrow(char* memory, Scalar scalar, std::int64_t rows, std::int64_t columns,
                                       std::int64_t leading_dimension) {
  Buffer buffer;
  buffer.data = memory;
  auto matrix = std::make_unique<Matrix>(buffer, scalar, rows, columns, leading_dimension);
  const Box all{0, 0, rows, columns};
  matrix->randomise_shadow(all, magnitude_, random_);
  matrix->store(all, random_);
  return matrix;
}

void Player::add_static_matrices() {
  const auto slot = static_cast<std::size_t>(thread_) % max_threads;
  const Scalar first = scalars[(slot + static_cast<std::size_t>(round_)) % 4];
  const Scalar second = scalars[(slot + static_cast<std::size_t>(round_) + 1) % 4];
  matrices_.push_back(borrow(zero_initialised[slot], first, static_rows, static_columns, static_rows));
  if (slot % 4 == 0) matrices_.push_back(borrow(initialised[slot], second, static_rows, static_columns, static_rows));
  for (const Scalar scalar : scalars) {
    const auto index = static_cast<std::size_t>(scalar);
    char* stripe = common_.written_by_all[index] +
                   static_cast<std::size_t>(thread_ * common_.stripe_rows) * blas::element_size(scalar);
    matrices_.push_back(
        borrow(stripe, scalar, common_.stripe_rows, common_.stripe_columns, common_.stripe_rows * options_.threads));
  }
}

std::unique_ptr<Matrix> Player::new_matrix(Scalar scalar) {
  const std::int64_t most = options_.max_size * (random_.one_in(8) ? 6 : 2);
  const std::int64_t rows = random_.between(std::max<std::int64_t>(1, options_.max_size / 4), most);
  const std::int64_t columns = random_.between(std::max<std::int64_t>(1, options_.max_size / 4), most);
  // Mostly kinds of memory of which mirrors can be kept.
  const auto storage = random_.one_in(8)
                           ? static_cast<Storage>(random_.below(owned_storages))
                           : random_.pick({Storage::heap, Storage::aligned, Storage::mapping, Storage::huge_mapping});
  const auto bytes = static_cast<std::size_t>(rows * columns) * blas::element_size(scalar);
  auto matrix = std::make_unique<Matrix>(allocate(storage, bytes, random_), scalar, rows, columns, rows);
  const Box all{0, 0, rows, columns};
  matrix->randomise_shadow(all, magnitude_, random_);
  matrix->store(all, random_);
  return matrix;
}

void Player::forget_plans_with(const Matrix* matrix) {
  const auto uses_it = [&](const auto& plan) {
    return std::find(plan.matrices.begin(), plan.matrices.end(), matrix) != plan.matrices.end();
  };
  std::erase_if(recent_, uses_it);
  std::erase_if(recent_factorizations_, uses_it);
  std::erase_if(recent_transforms_, uses_it);
}

void Player::replace(std::size_t index) {
  const Scalar scalar = matrices_[index]->scalar();
  forget_plans_with(matrices_[index].get());
  matrices_[index].reset();  // before the allocation, so that the new matrix may get the same place
  matrices_[index] = new_matrix(scalar);
}

void Player::play() {
  for (step_ = 0; step_ < options_.steps; ++step_) step();
  check_all("at the end");
}

void Player::step() {
  if (onlooker_.one_in(40)) {
    Matrix& matrix = *matrices_[onlooker_.below(matrices_.size())];
    doing_ = std::string("advice about ") + describe(matrix.storage());
    if (matrix.owned()) matrix.advise(onlooker_);
  }
  const std::size_t choice = random_.below(100);
  if (choice < 50) return call_step();
  if (choice < 59) return factorization_step();
  if (choice < 70) return transform_step();
  if (choice < 84) return write_step(*matrices_[random_.below(matrices_.size())]);
  if (choice < 91) return memory_step();
  if (choice < 94) return stack_step();
  if (choice < 97) return common_step();
  if (choice < 99) return check_all("in passing");
  if (random_.one_in(4) && options_.forks) fork_step();
}

void Player::call_step() {
  CommonMatrix* common = nullptr;
  std::shared_lock<std::shared_mutex> lock;
  if (!in_child_ && random_.one_in(3)) {
    common = &common_.read_by_all[random_.below(4)];
    lock = std::shared_lock(common->lock);
  }
  // Repeats earlier calls, since residency helps programs that do so.
  if (!recent_.empty() && !random_.one_in(3)) {
    Plan& plan = recent_[random_.below(recent_.size())];
    const bool usable = plan.by_all == 0 || (common != nullptr && common->matrix->identity() == plan.by_all);
    if (usable) return run(plan);
  }
  Plan plan;
  if (!plan_call(plan, common != nullptr ? common->matrix.get() : nullptr, false)) return;
  run(plan);
  if (recent_.size() == kept_plans) recent_.erase(recent_.begin());
  recent_.push_back(plan);
}

void Player::common_step() {
  const std::size_t index = random_.below(4);
  CommonMatrix& common = common_.read_by_all[index];
  const std::unique_lock lock(common.lock);
  doing_ = "changing a matrix that all threads read";
  if (random_.one_in(6)) {
    common.matrix.reset();
    common.matrix = new_matrix(scalars[index]);
  } else if (random_.one_in(3)) {
    Plan plan;
    if (plan_call(plan, common.matrix.get(), true)) run(plan);
  } else {
    write_step(*common.matrix);
  }
}

void Player::write_step(Matrix& matrix) {
  doing_ = std::string("writing to ") + describe(matrix.storage());
  const Box box = random_box(matrix, random_);
  matrix.randomise_shadow(box, magnitude_, random_);
  matrix.store(box, random_);
}

void Player::memory_step() {
  const std::size_t index = random_.below(matrices_.size());
  Matrix& matrix = *matrices_[index];
  if (!matrix.owned()) return;
  const char* storage = describe(matrix.storage());
  switch (random_.below(4)) {
    case 0: doing_ = std::string("replacing ") + storage; return replace(index);
    case 1:
      doing_ = std::string("moving ") + storage;
      matrix.move_or_remap(random_);
      break;
    case 2:
      doing_ = std::string("discarding ") + storage;
      matrix.discard(random_);
      break;
    default:
      doing_ = std::string("writing to the file under ") + storage;
      if (!matrix.write_to_file(random_)) return;
  }
  check(matrix, "after");
}

/// Takes a few steps with a matrix on this thread's stack. Later, other data is in its place.
[[gnu::noinline]] void Player::stack_step() {
  if (on_stack_) return;
  on_stack_ = true;
  const std::int64_t rows = random_.between(1, options_.max_size), columns = random_.between(1, options_.max_size);
  const Scalar scalar = scalars[random_.below(4)];
  const std::size_t depth = 16 * random_.below(2000);
  char* memory = static_cast<char*>(alloca(static_cast<std::size_t>(rows * columns) * 16 + depth));
  matrices_.push_back(borrow(memory, scalar, rows, columns, rows));
  const Matrix* matrix = matrices_.back().get();
  for (int i = 0; i < 5; ++i) {
    doing_ = "a matrix on the stack";
    if (random_.one_in(2)) {
      step();
    } else {
      call_step();
    }
  }
  check(*matrix, "on the stack after");
  forget_plans_with(matrix);
  matrices_.pop_back();
  on_stack_ = false;
}

/// Forks a child, which checks the inherited memory, computes, and writes into memory that it shares with its parent.
void Player::fork_step() {
  doing_ = "fork";
  fflush(nullptr);
  std::unique_lock planning(planner_mutex());
  const pid_t child = fork();
  planning.unlock();
  if (child < 0) fail_call("fork");
  if (child == 0) {
    in_child_ = true;
    check_all("in the child");
    for (int i = 0; i < 6; ++i) {
      call_step();
      write_step(*matrices_[random_.below(matrices_.size())]);
    }
    check_all("in the child");
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the child of a fork failed");
  for (const auto& matrix : matrices_) {
    if (matrix->storage() == Storage::shared_mapping) matrix->adopt();
  }
  check_all("after a fork");
}

void Player::check(const Matrix& matrix, const char* when) {
  std::string difference = onlooker_.one_in(4) ? matrix.difference_for_kernel(onlooker_) : "";
  if (difference.empty()) difference = matrix.difference();
  if (!difference.empty()) fail(std::string(when) + ": " + difference);
}

void Player::check_all(const char* when) {
  for (const auto& matrix : matrices_) check(*matrix, when);
  if (in_child_) return;
  for (CommonMatrix& common : common_.read_by_all) {
    const std::shared_lock lock(common.lock);
    check(*common.matrix, when);
  }
}

void Player::fail(const std::string& what) const {
  fprintf(stderr, "random_coherence: seed %llu, round %lld, thread %lld, step %lld (%s): %s\n",
          static_cast<unsigned long long>(options_.seed), static_cast<long long>(round_),
          static_cast<long long>(thread_), static_cast<long long>(step_), doing_.c_str(), what.c_str());
  _exit(1);
}

}  // namespace coherence
