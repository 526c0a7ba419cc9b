// Blocks in C++: owners, guards, exceptions, options, and threads that share blocks.
#include "blastoff/blocks.hpp"

#include <complex>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

namespace {

using blastoff::Access;
using blastoff::Block;
using blastoff::Tensor;

int failures = 0;

void check(int line, const char* what, bool holds) {
  if (holds) return;
  std::printf("line %d: WRONG: %s (%s)\n", line, what, blastoff_blocks_message());
  ++failures;
}
#define CHECK(what) check(__LINE__, #what, what)

template <class Call>
int status_of(Call call) {
  try {
    call();
  } catch (const blastoff::Error& error) {
    return error.status();
  }
  return BLASTOFF_OK;
}

template <class T>
void fill(Block& block, T value) {
  auto home = block.write();
  for (std::size_t i = 0; i < block.bytes() / sizeof(T); ++i) home.as<T>()[i] = value;
}

void owners_and_guards(int place) {
  Block block = Block::of<double>(100);
  fill(block, 2.0);
  Block moved = std::move(block);
  CHECK(!block && moved);
  {
    auto first = moved.read(place);
    auto second = std::move(first);
    CHECK(!first.held() && second.held() && second.place() == place);
    CHECK(status_of([&] { moved.write(); }) == BLASTOFF_CONFLICT);
    second.release();
    CHECK(!second.held());
  }
  auto update = moved.update(place);
  update.release();
  CHECK(moved.newest() == place);
  CHECK(moved.read().as<double>()[99] == 2.0);
  Block other = Block::of<double>(1);
  other = std::move(moved);
  CHECK(other.bytes() == 800);
  CHECK(status_of([&] { Block(0); }) == BLASTOFF_BAD_ARGUMENT);
  CHECK(status_of([&] { Tensor(other, "ij", {1}); }) == BLASTOFF_BAD_ARGUMENT);
  other.destroy();
  CHECK(!other);
}

void operations(int place) {
  const blastoff::Operation copy{Access::read, Access::write};
  Block from = Block::of<double>(10);
  Block to = Block::of<double>(10);
  fill(from, 5.0);
  {
    auto held = copy.acquire(blastoff::host, nullptr, from, to);
    CHECK(held.size() == 2);
    for (int i = 0; i < 10; ++i) held[1].as<double>()[i] = held[0].as<double>()[i];
    CHECK(status_of([&] { to.read(); }) == BLASTOFF_CONFLICT);
    auto other = from.read(place);  // it is held for reading only
  }
  CHECK(to.read().as<double>()[9] == 5.0);
  {
    auto writer = to.write(place);
    CHECK(status_of([&] { copy.acquire(place, nullptr, from, to); }) == BLASTOFF_CONFLICT);
    CHECK(status_of([&] { from.update(); }) == BLASTOFF_OK);  // nothing is left held
  }
  CHECK(status_of([&] { copy.acquire(place, nullptr, from); }) == BLASTOFF_BAD_ARGUMENT);
}

/// C(a, i, b, j) = 2 sum over k, c of A(k, a, c, i) B(c, b, k, j): a ring term.
template <class T>
void ring(int place) {
  const long long n = 6;
  const auto count = static_cast<std::size_t>(n * n * n * n);
  Block a = Block::of<T>(count);
  Block b = Block::of<T>(count);
  Block c = Block::of<T>(count);
  fill(a, T(3));
  fill(b, T(2));
  blastoff::contract(T(2), Tensor(a, "kaci", {n, n, n, n}), Tensor(b, "cbkj", {n, n, n, n}), T(0),
                     Tensor(c, "aibj", {n, n, n, n}), place);
  auto home = c.read();
  bool right = true;
  for (std::size_t i = 0; i < count; ++i) right = right && home.as<T>()[i] == T(2 * 3 * 2 * 36);
  CHECK(right);
}

void options(int place) {
  const blastoff::Options usual = blastoff::options();
  CHECK(usual.intents == 1 && usual.pinned == 1 && usual.pooled == 1 && usual.asynchronous == 1);
  for (int without = 0; without < 4; ++without) {
    blastoff::Options options = usual;
    (without == 0   ? options.intents
     : without == 1 ? options.pinned
     : without == 2 ? options.pooled
                    : options.asynchronous) = 0;
    blastoff::set_options(options);
    ring<double>(place);
  }
  CHECK(usual.streams == 2);
  for (const int streams : {1, 5, 0}) {
    blastoff::Options options = usual;
    options.streams = streams;
    blastoff::set_options(options);
    CHECK(blastoff::options().streams == (streams == 0 ? 2 : streams));
    ring<double>(place);
  }
  blastoff::Options wrong = usual;
  wrong.pooled = 5;
  CHECK(status_of([&] { blastoff::set_options(wrong); }) == BLASTOFF_BAD_ARGUMENT);
  wrong = usual;
  wrong.streams = 17;
  CHECK(status_of([&] { blastoff::set_options(wrong); }) == BLASTOFF_BAD_ARGUMENT);
  blastoff::set_options(usual);
}

void threads(int place) {
  std::vector<std::thread> all;
  std::vector<int> wrong(4, 0);
  Block shared = Block::of<double>(64 * 64);
  fill(shared, 1.0);
  for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
    all.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        Block mine = Block::of<double>(64 * 64);
        Block result = Block::of<double>(64 * 64);
        fill(mine, static_cast<double>(thread));
        blastoff::contract(1.0, Tensor(shared, "ik", {64, 64}), Tensor(mine, "kj", {64, 64}), 0.0,
                           Tensor(result, "ij", {64, 64}), place);
        wrong[thread] += result.read().as<double>()[5] != 64.0 * static_cast<double>(thread);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  for (const int count : wrong) CHECK(count == 0);
}

Block left_until_the_end;  // its destructor runs after the device has been closed

}  // namespace

int main() {
  const int devices = blastoff::devices();
  const int place = devices > 0 ? 0 : blastoff::host;
  owners_and_guards(place);
  operations(place);
  ring<double>(place);
  ring<float>(place);
  ring<std::complex<double>>(place);
  ring<std::complex<float>>(place);
  options(place);
  threads(place);
  left_until_the_end = Block::of<double>(10);
  fill(left_until_the_end, 1.0);
  left_until_the_end.update(place);
  CHECK(blastoff::counters().contractions > 80);
  std::printf("%d devices: %s\n", devices, failures == 0 ? "right" : "WRONG");
  return failures != 0;
}
