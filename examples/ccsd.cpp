// A block tensor program of the shape of coupled cluster (CCSD): the particle-particle ladder and the ring of the
// doubles amplitudes, in blocks, on all MPI ranks and their devices (docs/blocks.md, "An example").
//
//   T(a,b,i,j) = [ v(a,b,i,j) + sum_cd v(a,b,c,d) T(c,d,i,j) + sum_ck T(a,c,i,k) v(c,k,b,j) ] / D(a,b,i,j)
//
// a, b, c, d are virtual and i, j, k occupied orbitals, cut into tiles; a block has a tile of each of four indices. The
// integrals v are made on the fly. (Simple functions stand for them: this program shows how data moves.) A rank
// computes the blocks of its pairs of tiles (a, b), and gets those of T that it lacks from the others.
//
//   mpicxx -std=c++17 -O2 -Iinclude examples/ccsd.cpp -o ccsd -lblastoff
//   g++ -DWITHOUT_MPI -std=c++17 -O2 -Iinclude examples/ccsd.cpp -o ccsd -lblastoff     one rank
//   mpirun -n 4 ./ccsd [--occupied=N] [--virtual=N] [--tile=N] [--iterations=N] [--without=FEATURE] [--compare]
//   [--check]
//
// --without switches a feature off: intents, pinning, pool, asynchronous, direct (messages from device memory).
// --compare runs without each of them in turn. --check compares T with plain loops over all indices (small sizes only).
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

// ---- The ranks, and a store of blocks that all of them reach
// -----------------------------------------------------------

#ifdef WITHOUT_MPI
struct Ranks {
  Ranks(int*, char***) {}
  int own = 0, count = 1;
  double sum(double value) const { return value; }
  double greatest(double value) const { return value; }
  void share(Block&, int) const {}
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
  /// Everybody gets rank 0's block.
  void share(Block& block, int place) const { blastoff::bcast(block, place, 0, MPI_COMM_WORLD); }

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
// ----------------------------------------------------------------------------------------------------------

struct Settings {
  int occupied = 24, virtuals = 72, tile = 24, iterations = 2;
  bool check = false, compare = false;
  std::string without;
};

const char* const features[] = {"intents", "pinning", "pool", "asynchronous", "direct"};

bool is_feature(const std::string& name) {
  return std::find(std::begin(features), std::end(features), name) != std::end(features);
}

/// False: `argument` is none that is accepted.
bool read_argument(const std::string& argument, Settings& settings) {
  const std::size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (argument == "--check") return settings.check = true;
  if (argument == "--compare") return settings.compare = true;
  if (name == "--without") {
    settings.without = value;
    return is_feature(value);
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

/// The options of blocks without one feature, or ("") with all.
blastoff::Options options_without(const std::string& feature) {
  blastoff::Options options = blastoff::options();
  options.intents = feature != "intents" ? 1 : 0;
  options.pinned = feature != "pinning" ? 1 : 0;
  options.pooled = feature != "pool" ? 1 : 0;
  options.asynchronous = feature != "asynchronous" ? 1 : 0;
  options.direct = feature != "direct" ? -1 : 0;
  return options;
}

// ---- Orbitals and integrals
// ------------------------------------------------------------------------------------------

struct Tile {
  int begin, size;  // orbitals
};

std::vector<Tile> tiles(int first, int count, int size) {
  std::vector<Tile> all;
  for (int begin = 0; begin < count; begin += size) all.push_back({first + begin, std::min(size, count - begin)});
  return all;
}

/// The occupied orbitals first, then the virtual ones.
double orbital_energy(int orbital, const Settings& settings) {
  return orbital < settings.occupied ? -2.0 - 0.01 * orbital : 1.0 + 0.02 * (orbital - settings.occupied);
}

double near(int distance) {
  return 0.02 / (1.0 + std::abs(distance));
}
double wave(int distance) {
  return std::cos(0.7 * distance) / (2.0 + std::abs(distance));
}
double integral(int p, int q, int r, int s) {
  return near(p - r) * wave(q - s + 1);
}

/// v(p,q,r,s) of four tiles; the first index is contiguous.
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
// --------------------------------------------------------------------------------------------------------

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
        now_(slot_bytes(), ranks),
        next_(slot_bytes(), ranks) {
    if (ranks.own == 0) {
      auto home = energies_.write();
      for (int p = 0; p < settings.occupied + settings.virtuals; ++p)
        home.as<double>()[p] = orbital_energy(p, settings);
    }
    ranks.share(energies_, blastoff::host);
  }

  /// T = v / D.
  void start() {
    for_own_pairs([&](int a, int b) {
      for_occupied_pairs([&](int i, int j) {
        Block first = make_integrals(v(a), v(b), o(i), o(j));
        finish(first, a, b, i, j, nullptr);
      });
    });
    publish();
  }

  /// The norm of T afterwards, of all ranks.
  double iterate() {
    double squares = 0;
    for_own_pairs([&](int a, int b) {
      std::vector<Block> sums;
      for_occupied_pairs([&](int i, int j) { sums.push_back(make(v(a), v(b), o(i), o(j))); });
      ladder(a, b, sums);
      ring(a, b, sums);
      for_occupied_pairs([&](int i, int j) {
        const Block driver = make_integrals(v(a), v(b), o(i), o(j));
        squares += finish(sums[pair(i, j)], a, b, i, j, &driver);
      });
    });
    publish();
    return std::sqrt(ranks_.sum(squares));
  }

  Seconds seconds() const { return seconds_; }

  /// Calls visit(a, b, i, j, T) for every element, by orbitals counted from the first occupied and the first virtual
  /// one.
  template <class Visit>
  void each_element(Visit&& visit) {
    const int shift = v_.front().begin;
    for_pairs(static_cast<int>(v_.size()), [&](int a, int b) {
      for_occupied_pairs([&](int i, int j) {
        const auto home = amplitudes(a, b, i, j).read();
        const double* element = home.template as<double>();
        for (int l = 0; l < o(j).size; ++l)
          for (int k = 0; k < o(i).size; ++k)
            for (int q = 0; q < v(b).size; ++q)
              for (int p = 0; p < v(a).size; ++p)
                visit(v(a).begin + p - shift, v(b).begin + q - shift, o(i).begin + k, o(j).begin + l, *element++);
      });
    });
  }

 private:
  const Tile& o(int i) const { return o_[static_cast<std::size_t>(i)]; }
  const Tile& v(int a) const { return v_[static_cast<std::size_t>(a)]; }
  std::size_t pair(int i, int j) const { return static_cast<std::size_t>(i) * o_.size() + static_cast<std::size_t>(j); }

  template <class Visit>
  static void for_pairs(int count, Visit&& visit) {
    for (int first = 0; first < count; ++first)
      for (int second = 0; second < count; ++second) visit(first, second);
  }
  template <class Visit>
  void for_occupied_pairs(Visit&& visit) const {
    for_pairs(static_cast<int>(o_.size()), visit);
  }
  template <class Visit>
  void for_own_pairs(Visit&& visit) const {
    for_pairs(static_cast<int>(v_.size()), [&](int a, int b) {
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
        [&](int a, int b) { for_occupied_pairs([&](int i, int j) { all.push_back(bytes(v(a), v(b), o(i), o(j))); }); });
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

  /// T(a,b,i,j), fetched once for each iteration.
  Block& amplitudes(int a, int b, int i, int j) {
    const auto key = static_cast<std::size_t>(pair_number(a, b)) * o_.size() * o_.size() + pair(i, j);
    const auto found = fetched_.find(key);
    if (found != fetched_.end()) return found->second;
    const Stopwatch timed(seconds_.transfers);
    Block block = make(v(a), v(b), o(i), o(j));
    now_.get(block, place_, owner(a, b), slot(a, b, i, j));
    return fetched_.emplace(key, std::move(block)).first->second;
  }

  void ladder(int a, int b, std::vector<Block>& sums) {
    bool first = true;
    for_pairs(static_cast<int>(v_.size()), [&](int c, int d) {
      const Block integrals = make_integrals(v(a), v(b), v(c), v(d));
      for_occupied_pairs([&](int i, int j) {
        blastoff::contract(1.0, tensor(integrals, "abcd", v(a), v(b), v(c), v(d)),
                           tensor(amplitudes(c, d, i, j), "cdij", v(c), v(d), o(i), o(j)), first ? 0.0 : 1.0,
                           tensor(sums[pair(i, j)], "abij", v(a), v(b), o(i), o(j)), place_);
      });
      first = false;
    });
  }

  void ring(int a, int b, std::vector<Block>& sums) {
    for (int c = 0; c < static_cast<int>(v_.size()); ++c) {
      for_occupied_pairs([&](int k, int j) {
        const Block integrals = make_integrals(v(c), o(k), v(b), o(j));
        for (int i = 0; i < static_cast<int>(o_.size()); ++i)
          blastoff::contract(1.0, tensor(amplitudes(a, c, i, k), "acik", v(a), v(c), o(i), o(k)),
                             tensor(integrals, "ckbj", v(c), o(k), v(b), o(j)), 1.0,
                             tensor(sums[pair(i, j)], "abij", v(a), v(b), o(i), o(j)), place_);
      });
    }
  }

  /// Divides by D what was summed up, after adding `driver`, and puts it into the next T. The sum of its squares.
  double finish(Block& block, int a, int b, int i, int j, const Block* driver) {
    double squares = 0;
    {
      const auto energies = energies_.read();
      const auto home = block.update();
      const blastoff::Acquired added =
          driver == nullptr ? blastoff::Acquired()
                            : blastoff::Acquired(driver->handle(), blastoff::host, blastoff::Access::read, nullptr);
      const auto* e = energies.as<double>();
      const auto* more = added.as<double>();
      auto* element = home.as<double>();
      for (int l = 0; l < o(j).size; ++l) {
        for (int k = 0; k < o(i).size; ++k) {
          const double occupied = e[o(i).begin + k] + e[o(j).begin + l];
          for (int q = 0; q < v(b).size; ++q) {
            for (int p = 0; p < v(a).size; ++p, ++element) {
              if (more != nullptr) *element += *more++;
              *element /= occupied - e[v(a).begin + p] - e[v(b).begin + q];
              squares += *element * *element;
            }
          }
        }
      }
    }
    const Stopwatch timed(seconds_.transfers);
    next_.put(block, owner(a, b), slot(a, b, i, j));
    return squares;
  }

  /// The next T is T, on all ranks.
  void publish() {
    const Stopwatch timed(seconds_.transfers);
    fetched_.clear();
    next_.fence();
    std::swap(now_, next_);
  }

  const Ranks& ranks_;
  const std::vector<Tile> o_, v_;
  const int place_;
  Seconds seconds_;
  Block energies_;
  std::map<std::size_t, Block> fetched_;
  Store now_, next_;
};

// ---- Check
// -------------------------------------------------------------------------------------------------------------

/// T after all iterations by plain loops, a slowest.
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

/// The greatest difference of an element from plain loops.
double difference(Amplitudes& amplitudes, const Settings& settings) {
  const std::vector<double> expected = plain_loops(settings);
  const auto o = static_cast<std::size_t>(settings.occupied);
  const auto v = static_cast<std::size_t>(settings.virtuals);
  double greatest = 0;
  amplitudes.each_element([&](int a, int b, int i, int j, double value) {
    const std::size_t at =
        ((static_cast<std::size_t>(a) * v + static_cast<std::size_t>(b)) * o + static_cast<std::size_t>(i)) * o +
        static_cast<std::size_t>(j);
    const double apart = std::fabs(value - expected[at]);
    greatest = apart <= greatest ? greatest : apart;  // not a number counts
  });
  return greatest;
}

// ---- Runs
// --------------------------------------------------------------------------------------------------------------

/// False: the result is wrong.
bool run(const Settings& settings, const std::string& without, const Ranks& ranks) {
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
  if (ranks.own == 0) {
    std::printf("%-20s", without.empty() ? "all features" : ("without " + without).c_str());
    for (const double figure : row) std::printf("%11.3f", figure);
    std::printf("   %.12g\n", norm);
    std::fflush(stdout);
  }
  if (!settings.check) return true;
  const double apart = ranks.greatest(difference(amplitudes, settings));
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
          "--without=intents|pinning|pool|asynchronous|direct, --compare, --check\n",
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
    bool right = run(settings, settings.without, ranks);
    if (settings.compare)
      for (const char* const feature : features) right = run(settings, feature, ranks) && right;
    return right ? 0 : 1;
  } catch (const blastoff::Error& error) {
    std::fprintf(stderr, "ccsd, rank %d: %s\n", ranks.own, error.what());
#ifndef WITHOUT_MPI
    MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    return 1;
  }
}
