// The measurements of bench/blocks.py. Prints a line of JSON for each figure. Arguments: "full" or "quick".
#include "blastoff/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "timing.hpp"

namespace {

using blastoff::Block;
using blastoff::Options;
using blastoff::Tensor;

bool quick = false;
int place = blastoff::host;  // the first device, if there is one

/// Changes options; the destructor restores the usual ones.
class With {
 public:
  explicit With(const std::function<void(Options&)>& change) : usual_(blastoff::options()) {
    Options options = usual_;
    change(options);
    blastoff::set_options(options);
  }
  ~With() { (void)blastoff_blocks_set_options(&usual_); }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  const Options usual_;
};

void fill(Block& block, double value) {
  auto home = block.write();
  std::fill_n(home.as<double>(), block.bytes() / sizeof(double), value);
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all = {225, 400, 900, 1600, 2500, 6400, 22500, 90000, 360000, 1440000, 5000000, 13000000};
  if (quick) all.resize(8);
  return all;
}

/// Times copies to the device and back until they are complete. Both memories are allocated before.
void copies(bool pinned) {
  const With options([&](Options& all) { all.pinned = pinned ? 1 : 0; });
  for (const std::size_t size : sizes()) {
    Block block = Block::of<double>(size);
    std::vector<double> there;
    std::vector<double> back;
    const int times = size < 100000 ? 200 : 15;
    for (int i = 0; i < times; ++i) {
      fill(block, i);
      there.push_back(seconds_of([&] { block.read(place); }));
      block.update(place);
      back.push_back(seconds_of([&] { block.read(); }));
    }
    std::printf(R"({"table": "copies", "pinned": %s, "doubles": %zu, "to_device": %.9f, "from_device": %.9f})"
                "\n",
                pinned ? "true" : "false", size, median(there), median(back));
  }
}

/// Times copies from the first device to the second until they are complete: directly, if the driver allows it, or
/// through the host.
void between(bool direct) {
  const With options([&](Options& all) { all.direct = direct ? -1 : 0; });
  for (const std::size_t size : sizes()) {
    Block block = Block::of<double>(size);
    std::vector<double> seconds;
    const int times = size < 100000 ? 200 : 15;
    const auto before = blastoff::counters().copies_between_devices;
    fill(block, static_cast<double>(size));
    block.read(0);
    block.read(1);  // allocates the memory
    for (int i = 0; i < times; ++i) {
      block.update(0);
      seconds.push_back(seconds_of([&] { block.read(1); }));
    }
    block.update(1);  // makes all other copies stale
    if (block.read().as<double>()[size - 1] != static_cast<double>(size)) {
      std::fprintf(stderr, "a wrong copy between devices\n");
      std::exit(1);
    }
    const auto copies = blastoff::counters().copies_between_devices - before;
    std::printf(R"({"table": "between", "direct": %s, "copied_directly": %llu, "doubles": %zu, "seconds": %.9f})"
                "\n",
                direct ? "true" : "false", copies, size, median(seconds));
  }
}

/// Times allocating host memory (at the first acquisition) and freeing it (at the end of the block), without a pool.
void allocations(bool pinned) {
  const With options([&](Options& all) {
    all.pinned = pinned ? 1 : 0;
    all.pooled = 0;
  });
  for (const std::size_t size : sizes()) {
    std::vector<double> allocate;
    std::vector<double> free;
    for (int i = 0; i < 15; ++i) {
      Block block = Block::of<double>(size);
      allocate.push_back(seconds_of([&] { block.write(); }));
      free.push_back(seconds_of([&] { block.destroy(); }));
    }
    std::printf(R"({"table": "allocations", "pinned": %s, "doubles": %zu, "allocate": %.9f, "free": %.9f})"
                "\n",
                pinned ? "true" : "false", size, median(allocate), median(free));
  }
}

/// Times setting blocks to a number: where they are used, or on the host and then copied.
void fills(bool there) {
  for (const std::size_t size : sizes()) {
    Block block = Block::of<double>(size);
    std::vector<double> seconds;
    const int times = size < 100000 ? 200 : 15;
    for (int i = 0; i <= times; ++i) {
      block.write();  // no device has the newest version
      const double taken = seconds_of([&] {
        there ? block.fill(0.5 + i, place) : fill(block, 0.5 + i);
        block.read(place);
      });
      if (i > 0) seconds.push_back(taken);  // the first one allocates
    }
    if (block.read().as<double>()[size - 1] != 0.5 + times) {
      std::fprintf(stderr, "a wrong number\n");
      std::exit(1);
    }
    std::printf(R"({"table": "fills", "there": %s, "doubles": %zu, "seconds": %.9f})"
                "\n",
                there ? "true" : "false", size, median(seconds));
  }
}

/// Times storing blocks in a file, and reading them again. They are on the device before and after.
void files() {
  for (const std::size_t size : sizes()) {
    Block block = Block::of<double>(size);
    std::vector<double> store;
    std::vector<double> again;
    for (int i = 0; i < 5; ++i) {
      block.fill(0.5 + i, place);
      store.push_back(seconds_of([&] { block.store(); }));
      again.push_back(seconds_of([&] { block.read(place); }));
      if (block.read().as<double>()[size - 1] != 0.5 + i) {
        std::fprintf(stderr, "a wrong number came back from a file\n");
        std::exit(1);
      }
    }
    std::printf(R"({"table": "files", "doubles": %zu, "store": %.9f, "again": %.9f})"
                "\n",
                size, median(store), median(again));
  }
}

struct Work {
  double seconds;
  blastoff::Counters before;
  blastoff::Counters after;
};

Work measure(const std::function<void()>& body) {
  Work work{};
  work.before = blastoff::counters();
  work.seconds = seconds_of([&] {
    body();
    blastoff::synchronize();
  });
  work.after = blastoff::counters();
  return work;
}

/// Creates and destroys blocks with the sizes of a coupled-cluster program: two and four indices of tiles of different
/// lengths.
void come_and_go() {
  std::mt19937 random(1);
  const std::size_t tiles[] = {8, 10, 12, 14, quick ? 15U : 24U};
  std::vector<Block> alive(40);
  for (int i = 0; i < (quick ? 500 : 4000); ++i) {
    std::size_t size = tiles[random() % 5] * tiles[random() % 5];
    if (random() % 3 != 0) size *= tiles[random() % 5] * tiles[random() % 5];
    Block& block = alive[random() % alive.size()];
    block = Block();
    block = Block::of<double>(size);
    block.write();
  }
}

void pool(const char* name, bool pinned, bool pooled) {
  const With options([&](Options& all) {
    all.pinned = pinned ? 1 : 0;
    all.pooled = pooled ? 1 : 0;
  });
  blastoff::check(blastoff_blocks_trim());
  const Work work = measure(come_and_go);
  const double hits = static_cast<double>(work.after.host_hits - work.before.host_hits);
  const double misses = static_cast<double>(work.after.host_misses - work.before.host_misses);
  std::printf(R"({"table": "pool", "name": "%s", "hit_rate": %.4f, "allocation_seconds": %.6f, "seconds": %.6f})"
              "\n",
              name, hits / std::max(1.0, hits + misses), work.after.host_seconds - work.before.host_seconds,
              work.seconds);
}

/// Ladder terms over tiles. Amplitudes are made once. Integrals are made on the host for each use and changed in
/// place on the device. Results are read on the host, and set to zero there.
class Ladder {
 public:
  Ladder() {
    for (std::size_t i = 0; i < tiles_; ++i) {
      amplitudes_.push_back(Block::of<double>(count_));
      integrals_.push_back(Block::of<double>(count_));
      results_.push_back(Block::of<double>(count_));
      fill(amplitudes_[i], 1.0 / static_cast<double>(i + 1));
      fill(results_[i], 0);
    }
  }

  void run() {
    for (std::size_t i = 0; i < tiles_; ++i) {
      for (std::size_t j = 0; j < tiles_; ++j) {
        fill(integrals_[j], static_cast<double>(i + j));
        integrals_[j].update(place);  // a kernel of a real program would antisymmetrise them here
        blastoff::contract(1.0, Tensor(integrals_[j], "abcd", {n_, n_, n_, n_}),
                           Tensor(amplitudes_[j], "cdij", {n_, n_, n_, n_}), j == 0 ? 0.0 : 1.0,
                           Tensor(results_[i], "abij", {n_, n_, n_, n_}), place);
      }
    }
    for (std::size_t i = 0; i < tiles_; ++i) {
      check(i);
      fill(results_[i], 0);
    }
  }

 private:
  void check(std::size_t i) {
    double expected = 0;
    for (std::size_t j = 0; j < tiles_; ++j)
      expected += static_cast<double>((i + j) * static_cast<std::size_t>(n_ * n_)) / static_cast<double>(j + 1);
    auto home = results_[i].read();
    const double found = home.as<double>()[count_ - 1];
    if (std::abs(found - expected) <= 1e-9 * expected) return;
    std::fprintf(stderr, "a wrong result: %g instead of %g\n", found, expected);
    std::exit(1);
  }

  const long long n_ = quick ? 8 : 24;
  const std::size_t count_ = static_cast<std::size_t>(n_ * n_ * n_ * n_);
  const std::size_t tiles_ = quick ? 3 : 4;
  std::vector<Block> amplitudes_;
  std::vector<Block> integrals_;
  std::vector<Block> results_;
};

void overall(const char* name, const std::function<void(Options&)>& change) {
  const With options(change);
  blastoff::check(blastoff_blocks_trim());
  Ladder().run();  // loads libraries and kernels
  std::vector<double> seconds;
  Work work{};
  for (int i = 0; i < 5; ++i) {
    work = measure([] {
      Ladder ladder;
      ladder.run();
      ladder.run();
    });
    seconds.push_back(work.seconds);
  }
  std::printf(
      R"({"table": "overall", "name": "%s", "seconds": %.6f, "copies_to_device": %llu, "bytes_to_device": %llu, )"
      R"("copies_from_device": %llu, "bytes_from_device": %llu})"
      "\n",
      name, median(seconds), work.after.copies_to_device - work.before.copies_to_device,
      work.after.bytes_to_device - work.before.bytes_to_device,
      work.after.copies_from_device - work.before.copies_from_device,
      work.after.bytes_from_device - work.before.bytes_from_device);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || (std::strcmp(arguments[1], "full") != 0 && std::strcmp(arguments[1], "quick") != 0)) {
    std::fprintf(stderr, "usage: %s full | quick\n", arguments[0]);
    return 2;
  }
  quick = std::strcmp(arguments[1], "quick") == 0;
  place = blastoff::devices() > 0 ? 0 : blastoff::host;
  std::printf(R"({"table": "place", "place": %d})"
              "\n",
              place);
  for (const bool pinned : {false, true}) copies(pinned);
  if (blastoff::devices() > 1)
    for (const bool direct : {false, true}) between(direct);
  for (const bool pinned : {false, true}) allocations(pinned);
  for (const bool there : {false, true}) fills(there);
  files();
  pool("plain, no pool", false, false);
  pool("page-locked, no pool", true, false);
  pool("page-locked, pool", true, true);
  overall("as they are", [](Options&) {});
  overall("without intents", [](Options& options) { options.intents = 0; });
  overall("without pinning", [](Options& options) { options.pinned = 0; });
  overall("pinning without pool", [](Options& options) { options.pooled = 0; });
  overall("synchronous", [](Options& options) { options.asynchronous = 0; });
  overall("one stream", [](Options& options) { options.streams = 1; });
  overall("four streams", [](Options& options) { options.streams = 4; });
  overall("as they are, again", [](Options&) {});
  return 0;
}
