// Blocks in C++: owners, guards, exceptions, options, and threads that share blocks.
#include "blastoff/blocks.hpp"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <cstdlib>
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

template <class T>
bool all_are(Block& block, T value) {
  auto home = block.read();
  const T* const numbers = home.as<T>();
  return std::all_of(numbers, numbers + block.bytes() / sizeof(T), [&](T number) { return number == value; });
}

void numbers(int place) {
  for (const int there : {place, blastoff::host}) {
    for (const std::size_t count : {1, 2, 3, 1000}) {
      Block block = Block::of<double>(count);
      block.fill(2.5, there);
      CHECK(block.is_current(there) && all_are(block, 2.5));
      block.fill(0.0, there);
      CHECK(all_are(block, 0.0));
    }
    Block complex = Block::of<std::complex<double>>(77);
    complex.fill(std::complex<double>(1, -2), there);
    CHECK(all_are(complex, std::complex<double>(1, -2)));
    complex.fill(3.0F, there);
    CHECK(all_are(complex, 3.0F));
    Block odd = Block(12);
    CHECK(status_of([&] { odd.fill(1.0, there); }) == BLASTOFF_BAD_ARGUMENT);
    odd.fill(1.0F, there);
    auto reader = odd.read();
    CHECK(status_of([&] { odd.fill(1.0F, there); }) == BLASTOFF_CONFLICT);
  }
  const Block block = Block::of<double>(1);
  CHECK(blastoff_block_fill(block.handle(), BLASTOFF_DOUBLE, nullptr, place) == BLASTOFF_BAD_ARGUMENT);
}

void in_a_file(int place) {
  std::vector<Block> blocks;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(Block::of<double>(static_cast<std::size_t>(1000 + 100 * (i % 5))));
    blocks.back().fill(1.0 + i, i % 2 == 0 ? place : blastoff::host);
    if (i == 0) {
      setenv("TMPDIR", "/no/such/directory", 1);
      CHECK(status_of([&] { blocks[0].store(); }) == BLASTOFF_OUT_OF_MEMORY);
      CHECK(all_are(blocks[0], 1.0));
      setenv("TMPDIR", "/tmp", 1);
    }
    blocks.back().store();
    CHECK(!blocks.back().is_current(place) && !blocks.back().is_current(blastoff::host));
  }
  for (int i = 0; i < 20; i += 2) blocks[static_cast<std::size_t>(i)].fill(100.0 + i, place);  // it gives room back
  for (int i = 0; i < 20; ++i) {
    Block& block = blocks[static_cast<std::size_t>(i)];
    block.store();
    block.store();
    CHECK(all_are(block, i % 2 == 0 ? 100.0 + i : 1.0 + i));
    block.store();
    {
      auto there = block.read(place);
      CHECK(status_of([&] { block.store(); }) == BLASTOFF_CONFLICT);
    }
    block.evict(blastoff::host);
    CHECK(all_are(block, i % 2 == 0 ? 100.0 + i : 1.0 + i));
    block.store();
    block.update().as<double>()[0] = -1;
    CHECK(block.read().as<double>()[0] == -1 && block.read().as<double>()[1] >= 1);
  }
  Block empty = Block::of<double>(1);
  empty.store();
  CHECK(status_of([&] { empty.read(); }) == BLASTOFF_NOTHING_THERE);
  double mine = 3;
  Block over = Block::over(&mine, sizeof mine);
  over.store();
  CHECK(over.read().as<double>() == &mine && mine == 3);
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
  numbers(place);
  in_a_file(place);
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
