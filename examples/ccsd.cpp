// A block tensor program with the structure of coupled cluster (CCSD): the particle-particle ladder and the ring of the
// doubles amplitudes, in blocks, on all MPI ranks and their devices (docs/blocks.md, "An example").
//
//   T(a,b,i,j) = [ v(a,b,i,j) + sum_cd v(a,b,c,d) T(c,d,i,j) + sum_ck T(a,c,i,k) v(c,k,b,j) ] / D(a,b,i,j)
//
// a, b, c, d are virtual and i, j, k occupied orbitals, which are cut into tiles. A block covers one tile of each of
// its four indices. A rank computes the blocks of its pairs of tiles (a, b), and then broadcasts them to all ranks.
// Integrals v with more virtual orbitals are made on the fly. The v(c,k,b,j) are made once and fetched from the rank
// that has them. (The integrals are simple functions, since this program only shows how data moves.)
//
//   mpicxx -std=c++17 -O2 examples/ccsd.cpp -o ccsd $(pkg-config --cflags --libs blastoff) -lblas
//   g++ -DWITHOUT_MPI, and the same options: one rank, without MPI
//   mpirun -n 4 ./ccsd [--occupied=N] [--virtual=N] [--tile=N] [--iterations=N] [--without=FEATURE] [--compare]
//   [--check]
//
// --without switches a feature off: intents, pinning, pool, asynchronous, streams (one for copies in both directions),
// direct (messages from and to device memory).
// --compare runs without each of them in turn, after a run that is not counted, and then with all of them again, which
// shows what two equal runs differ by. --check compares T with plain loops over all indices (for small sizes).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#ifdef WITHOUT_MPI
#include <blastoff/blocks.hpp>
#else
#include <blastoff/blocks_mpi.hpp>
#endif

using blastoff::Block;
using blastoff::Tensor;

// ---- The ranks, and a store of blocks that all ranks can access

#ifdef WITHOUT_MPI
struct Ranks {
  Ranks(int*, char***) {}
  int own = 0, count = 1;
  double sum(double value) const { return value; }
  double greatest(double value) const { return value; }
  void share(Block&, int, int) const {}
};

class Store {
 public:
  Store(const std::vector<std::size_t>& bytes, const Ranks&) {
    for (const std::size_t size : bytes) slots_.emplace_back(size);
  }
  void put(const Block& block, int, int slot) {
    const blastoff::Acquired from(block.handle(), blastoff::host, blastoff::Access::read, nullptr);
    std::memcpy(slots_[static_cast<std::size_t>(slot)].data(), from.address(), block.bytes());
  }
  void get(Block& block, int place, int, int slot) {
    std::memcpy(block.write().address(), slots_[static_cast<std::size_t>(slot)].data(), block.bytes());
    block.prefetch(place);
  }
  void fence() {}

 private:
  std::vector<std::vector<char>> slots_;
};
#else
struct Ranks {
  Ranks(int* count_of_arguments, char*** arguments) {
    MPI_Init(count_of_arguments, arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
  }
  ~Ranks() { MPI_Finalize(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int own = 0, count = 1;
  double sum(double value) const { return reduce(value, MPI_SUM); }
  double greatest(double value) const { return reduce(value, MPI_MAX); }
  /// Broadcasts the block of rank `owner`.
  void share(Block& block, int owner, int place) const { blastoff::bcast(block, place, owner, MPI_COMM_WORLD); }

 private:
  static double reduce(double value, MPI_Op operation) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
    return value;
  }
};

class Store : public blastoff::Window {
 public:
  Store(const std::vector<std::size_t>& bytes, const Ranks&) : Window(bytes, MPI_COMM_WORLD) {}
};
#endif

// ---- Settings

struct Settings {
  int occupied = 24, virtuals = 72, tile = 24, iterations = 2;
  bool check = false, compare = false;
  std::string without;
};

const char* const features[] = {"intents", "pinning", "pool", "asynchronous", "streams", "direct"};

/// Returns false if `argument` is not accepted.
bool read_argument(const std::string& argument, Settings& settings) {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (argument == "--check") return settings.check = true;
  if (argument == "--compare") return settings.compare = true;
  if (name == "--without") {
    settings.without = value;
    return std::find(std::begin(features), std::end(features), value) != std::end(features);
  }
  const std::map<std::string, int*> numbers = {{"--occupied", &settings.occupied},
                                               {"--virtual", &settings.virtuals},
                                               {"--tile", &settings.tile},
                                               {"--iterations", &settings.iterations}};
  const auto number = numbers.find(name);
  if (number == numbers.end()) return false;
  *number->second = std::atoi(value.c_str());
  return *number->second > 0;
}

/// The options of blocks without one feature; with all features if `feature` is "".
blastoff::Options options_without(const std::string& feature) {
  blastoff::Options options = blastoff::options();
  options.intents = feature != "intents" ? 1 : 0;
  options.pinned = feature != "pinning" ? 1 : 0;
  options.pooled = feature != "pool" ? 1 : 0;
  options.asynchronous = feature != "asynchronous" ? 1 : 0;
  options.streams = feature != "streams" ? 2 : 1;
  options.direct = feature != "direct" ? -1 : 0;
  return options;
}

// ---- Orbitals and integrals

struct Tile {
  int begin, size;  // orbitals
};

std::vector<Tile> tiles(int first, int count, int size) {
  std::vector<Tile> all;
  for (int begin = 0; begin < count; begin += size) all.push_back({first + begin, std::min(size, count - begin)});
  return all;
}

/// The energy of an orbital. Occupied orbitals come first, then virtual ones.
double orbital_energy(int orbital, const Settings& settings) {
  return orbital < settings.occupied ? -2.0 - 0.01 * orbital : 1.0 + 0.02 * (orbital - settings.occupied);
}

double near(int distance) {
  return 0.2 / (1.0 + std::abs(distance));
}
double wave(int distance) {
  return std::cos(0.7 * distance) / (2.0 + std::abs(distance));
}
double integral(int p, int q, int r, int s) {
  return near(p - r) * wave(q - s + 1);
}

/// Writes v(p,q,r,s) for four tiles; the first index is contiguous.
void fill_integrals(double* to, const Tile& p, const Tile& q, const Tile& r, const Tile& s) {
  std::vector<double> nearby(static_cast<std::size_t>(p.size));
  for (int l = 0; l < s.size; ++l) {
    for (int k = 0; k < r.size; ++k) {
      for (int i = 0; i < p.size; ++i) nearby[static_cast<std::size_t>(i)] = near(p.begin + i - (r.begin + k));
      for (int j = 0; j < q.size; ++j) {
        const double factor = wave(q.begin + j - (s.begin + l) + 1);
        for (int i = 0; i < p.size; ++i) *to++ = nearby[static_cast<std::size_t>(i)] * factor;
      }
    }
  }
}

// ---- The program

class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double& sum_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

struct Seconds {
  double total = 0, integrals = 0, transfers = 0;
};

class Amplitudes {
 public:
  Amplitudes(const Settings& settings, const Ranks& ranks)
      : ranks_(ranks),
        o_(tiles(0, settings.occupied, settings.tile)),
        v_(tiles(settings.occupied, settings.virtuals, settings.tile)),
        place_(blastoff::devices() > 0 ? 0 : blastoff::host),
        energies_(Block::of<double>(static_cast<std::size_t>(settings.occupied + settings.virtuals))),
        kept_(slot_bytes(), ranks) {
    if (ranks.own == 0) {
      const auto home = energies_.write();
      for (int p = 0; p < settings.occupied + settings.virtuals; ++p)
        home.as<double>()[p] = orbital_energy(p, settings);
    }
    ranks.share(energies_, 0, blastoff::host);
    for_pairs(v_, [&](int a, int b) {
      for_pairs(o_, [&](int i, int j) { amplitudes_.push_back(make(v(a), v(b), o(i), o(j))); });
    });
  }

  /// Computes T = v / D, and the integrals that are kept.
  void start() {
    for_own_pairs([&](int a, int b) {
      for_pairs(o_, [&](int i, int j) {
        const Block integrals = make_integrals(v(a), o(i), v(b), o(j));
        const Stopwatch timed(seconds_.transfers);
        kept_.put(integrals, ranks_.own, slot(a, b, i, j));
      });
    });
    kept_.fence();
    (void)next([](int, int, std::vector<Block>&) {});
  }

  /// Makes one iteration. Returns the norm of the new T over all ranks.
  double iterate() {
    return next([&](int a, int b, std::vector<Block>& sums) {
      ladder(a, b, sums);
      ring(a, b, sums);
    });
  }

  Seconds seconds() const { return seconds_; }

  /// The largest difference between an element of T and of `expected`, which plain_loops() has returned.
  double difference(const std::vector<double>& expected) {
    double greatest = 0;
    const int os = orbitals(o_), vs = orbitals(v_);
    for_pairs(v_, [&](int a, int b) {
      for_pairs(o_, [&](int i, int j) {
        const auto home = amplitudes(a, b, i, j).read();
        const double* element = home.as<double>();
        for (int l = o(j).begin; l < o(j).begin + o(j).size; ++l)
          for (int k = o(i).begin; k < o(i).begin + o(i).size; ++k)
            for (int q = v(b).begin - os; q < v(b).begin - os + v(b).size; ++q)
              for (int p = v(a).begin - os; p < v(a).begin - os + v(a).size; ++p) {
                const double apart =
                    std::fabs(*element++ - expected[static_cast<std::size_t>(((p * vs + q) * os + k) * os + l)]);
                greatest = apart <= greatest ? greatest : apart;  // a NaN counts as a difference
              }
      });
    });
    return greatest;
  }

 private:
  const Tile& o(int i) const { return o_[static_cast<std::size_t>(i)]; }
  const Tile& v(int a) const { return v_[static_cast<std::size_t>(a)]; }
  static int orbitals(const std::vector<Tile>& all) { return all.back().begin + all.back().size - all.front().begin; }
  std::size_t pair(int i, int j) const { return static_cast<std::size_t>(i) * o_.size() + static_cast<std::size_t>(j); }

  /// Visits all pairs of tiles of one kind.
  template <class Visit>
  static void for_pairs(const std::vector<Tile>& all, Visit&& visit) {
    for (int first = 0; first < static_cast<int>(all.size()); ++first)
      for (int second = 0; second < static_cast<int>(all.size()); ++second) visit(first, second);
  }
  template <class Visit>
  void for_own_pairs(Visit&& visit) const {
    for_pairs(v_, [&](int a, int b) {
      if (owner(a, b) == ranks_.own) visit(a, b);
    });
  }

  int pair_number(int a, int b) const { return a * static_cast<int>(v_.size()) + b; }
  int owner(int a, int b) const { return pair_number(a, b) % ranks_.count; }
  int slot(int a, int b, int i, int j) const {
    return static_cast<int>(static_cast<std::size_t>(pair_number(a, b) / ranks_.count) * o_.size() * o_.size() +
                            pair(i, j));
  }

  static std::size_t bytes(const Tile& p, const Tile& q, const Tile& r, const Tile& s) {
    return sizeof(double) * static_cast<std::size_t>(p.size) * static_cast<std::size_t>(q.size) *
           static_cast<std::size_t>(r.size) * static_cast<std::size_t>(s.size);
  }
  std::vector<std::size_t> slot_bytes() const {
    std::vector<std::size_t> all;
    for_own_pairs(
        [&](int a, int b) { for_pairs(o_, [&](int i, int j) { all.push_back(bytes(v(a), o(i), v(b), o(j))); }); });
    return all;
  }

  static Block make(const Tile& p, const Tile& q, const Tile& r, const Tile& s) { return Block(bytes(p, q, r, s)); }
  Block make_integrals(const Tile& p, const Tile& q, const Tile& r, const Tile& s) {
    const Stopwatch timed(seconds_.integrals);
    Block block = make(p, q, r, s);
    fill_integrals(block.write().as<double>(), p, q, r, s);
    return block;
  }
  static Tensor tensor(const Block& block, const char* labels, const Tile& p, const Tile& q, const Tile& r,
                       const Tile& s) {
    return Tensor(block, labels, {p.size, q.size, r.size, s.size});
  }

  Block& amplitudes(int a, int b, int i, int j) {
    return amplitudes_[static_cast<std::size_t>(pair_number(a, b)) * o_.size() * o_.size() + pair(i, j)];
  }

  /// Fetches v(c,k,b,j) from the rank that has it.
  Block kept_integrals(int c, int k, int b, int j) {
    const Stopwatch timed(seconds_.transfers);
    Block block = make(v(c), o(k), v(b), o(j));
    kept_.get(block, place_, owner(c, b), slot(c, b, k, j));
    return block;
  }

  void ladder(int a, int b, std::vector<Block>& sums) {
    for_pairs(v_, [&](int c, int d) {
      const Block integrals = make_integrals(v(a), v(b), v(c), v(d));
      for_pairs(o_, [&](int i, int j) {
        blastoff::contract(1.0, tensor(integrals, "abcd", v(a), v(b), v(c), v(d)),
                           tensor(amplitudes(c, d, i, j), "cdij", v(c), v(d), o(i), o(j)), 1.0,
                           tensor(sums[pair(i, j)], "abij", v(a), v(b), o(i), o(j)), place_);
      });
    });
  }

  void ring(int a, int b, std::vector<Block>& sums) {
    for (int c = 0; c < static_cast<int>(v_.size()); ++c) {
      for_pairs(o_, [&](int k, int j) {
        const Block integrals = kept_integrals(c, k, b, j);
        for (int i = 0; i < static_cast<int>(o_.size()); ++i)
          blastoff::contract(1.0, tensor(amplitudes(a, c, i, k), "acik", v(a), v(c), o(i), o(k)),
                             tensor(integrals, "ckbj", v(c), o(k), v(b), o(j)), 1.0,
                             tensor(sums[pair(i, j)], "abij", v(a), v(b), o(i), o(j)), place_);
      });
    }
  }

  /// Computes the next T from v and the terms that add(a, b, sums) adds to the sums of all i and j. Returns its norm.
  template <class Add>
  double next(Add&& add) {
    std::vector<Block> all;
    for_own_pairs([&](int a, int b) {
      std::vector<Block> sums;
      for_pairs(o_, [&](int i, int j) { sums.push_back(make_integrals(v(a), v(b), o(i), o(j))); });
      add(a, b, sums);
      for (Block& sum : sums) all.push_back(std::move(sum));
    });
    double squares = 0;
    auto sum = all.begin();
    for_own_pairs([&](int a, int b) {
      for_pairs(o_, [&](int i, int j) {
        amplitudes(a, b, i, j) = std::move(*sum++);
        squares += divide(amplitudes(a, b, i, j), v(a), v(b), o(i), o(j));
      });
    });
    const Stopwatch timed(seconds_.transfers);
    for_pairs(v_, [&](int a, int b) {
      for_pairs(o_, [&](int i, int j) { ranks_.share(amplitudes(a, b, i, j), owner(a, b), place_); });
    });
    return std::sqrt(ranks_.sum(squares));
  }

  /// Divides a block by D. Returns the sum of the squares of its elements.
  double divide(Block& block, const Tile& a, const Tile& b, const Tile& i, const Tile& j) {
    double squares = 0;
    const auto energies = energies_.read();
    const auto home = block.update();
    const auto* e = energies.as<double>();
    auto* element = home.as<double>();
    for (int l = j.begin; l < j.begin + j.size; ++l) {
      for (int k = i.begin; k < i.begin + i.size; ++k) {
        for (int q = b.begin; q < b.begin + b.size; ++q) {
          for (int p = a.begin; p < a.begin + a.size; ++p, ++element) {
            *element /= e[k] + e[l] - e[p] - e[q];
            squares += *element * *element;
          }
        }
      }
    }
    return squares;
  }

  const Ranks& ranks_;
  const std::vector<Tile> o_, v_;
  const int place_;
  Seconds seconds_;
  Block energies_;
  std::vector<Block> amplitudes_;  // all blocks of T
  Store kept_;                     // the integrals v(c,k,b,j)
};

// ---- Check

/// T after all iterations, computed by plain loops. The index a varies slowest.
std::vector<double> plain_loops(const Settings& settings) {
  const int o = settings.occupied;
  const int v = settings.virtuals;
  const auto at = [=](int a, int b, int i, int j) { return static_cast<std::size_t>(((a * v + b) * o + i) * o + j); };
  const auto e = [&](int orbital) { return orbital_energy(orbital, settings); };
  std::vector<double> now(static_cast<std::size_t>(v) * static_cast<std::size_t>(v * o * o));
  std::vector<double> next(now.size());
  for (int iteration = 0; iteration <= settings.iterations; ++iteration) {
    for (int a = 0; a < v; ++a)
      for (int b = 0; b < v; ++b)
        for (int i = 0; i < o; ++i)
          for (int j = 0; j < o; ++j) {
            double sum = integral(o + a, o + b, i, j);
            for (int c = 0; c < v; ++c) {
              for (int d = 0; d < v; ++d) sum += integral(o + a, o + b, o + c, o + d) * now[at(c, d, i, j)];
              for (int k = 0; k < o; ++k) sum += now[at(a, c, i, k)] * integral(o + c, k, o + b, j);
            }
            next[at(a, b, i, j)] = sum / (e(i) + e(j) - e(o + a) - e(o + b));
          }
    now.swap(next);
  }
  return now;
}

// ---- Runs

/// Returns false if the result is wrong. A run that is not shown pays for what only the first run in a process costs.
bool run(const Settings& settings, const std::string& without, const Ranks& ranks, bool shown = true) {
  blastoff::check(blastoff_blocks_trim());
  blastoff::set_options(options_without(without));
  const blastoff::Counters before = blastoff::counters();
  Amplitudes amplitudes(settings, ranks);
  double total = 0, norm = 0;
  {
    const Stopwatch timed(total);
    amplitudes.start();
    for (int iteration = 0; iteration < settings.iterations; ++iteration) norm = amplitudes.iterate();
  }
  const blastoff::Counters after = blastoff::counters();
  const auto all = [&](auto counter) { return ranks.sum(static_cast<double>(after.*counter - before.*counter)); };
  using C = blastoff::Counters;
  const double hits = all(&C::host_hits) + all(&C::device_hits);
  const double asked = hits + all(&C::host_misses) + all(&C::device_misses);
  const std::vector<double> row = {ranks.greatest(total),
                                   ranks.greatest(amplitudes.seconds().integrals),
                                   ranks.greatest(amplitudes.seconds().transfers),
                                   all(&C::waiting_seconds) / ranks.count,
                                   (all(&C::host_seconds) + all(&C::device_seconds)) / ranks.count,
                                   all(&C::bytes_to_device) / 1e9,
                                   all(&C::bytes_from_device) / 1e9,
                                   asked > 0 ? 100 * hits / asked : 0,
                                   1e-9 * all(&C::flops) / ranks.greatest(total)};
  if (ranks.own == 0 && shown) {
    std::printf("%-20s", without.empty() ? "all features" : ("without " + without).c_str());
    for (const double figure : row) std::printf("%11.4f", figure);
    std::printf("   %.12g\n", norm);
    std::fflush(stdout);
  }
  if (!settings.check || !shown) return true;
  const double apart = ranks.greatest(amplitudes.difference(plain_loops(settings)));
  if (ranks.own == 0) std::printf("greatest difference from plain loops: %.2e\n", apart);
  return apart < 1e-12;
}

int main(int argc, char** argv) {
  const Ranks ranks(&argc, &argv);
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    if (read_argument(argv[i], settings)) continue;
    if (ranks.own == 0)
      std::fprintf(
          stderr,
          "ccsd: %s is not accepted; accepted are --occupied=N, --virtual=N, --tile=N, --iterations=N (from 1), "
          "--without=intents|pinning|pool|asynchronous|streams|direct, --compare, --check\n",
          argv[i]);
    return 2;
  }
  try {
    if (ranks.own == 0)
      std::printf(
          "%d ranks, %d devices each, %d occupied and %d virtual orbitals in tiles of %d, %d iterations\n"
          "%-20s%11s%11s%11s%11s%11s%11s%11s%11s%11s   %s\n",
          ranks.count, blastoff::devices(), settings.occupied, settings.virtuals, settings.tile, settings.iterations,
          "", "seconds", "integrals", "transfers", "waiting", "allocating", "GB to", "GB from", "hits, %", "GFlop/s",
          "norm of T");
    if (settings.compare) (void)run(settings, settings.without, ranks, false);
    bool right = run(settings, settings.without, ranks);
    if (settings.compare) {
      for (const char* const feature : features) right = run(settings, feature, ranks) && right;
      right = run(settings, settings.without, ranks) && right;
    }
    return right ? 0 : 1;
  } catch (const blastoff::Error& error) {
    std::fprintf(stderr, "ccsd, rank %d: %s\n", ranks.own, error.what());
#ifndef WITHOUT_MPI
    MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    return 1;
  }
}
