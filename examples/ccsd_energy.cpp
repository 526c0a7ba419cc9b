// The energy of a closed-shell molecule by coupled cluster with singles and doubles (CCSD), in blocks: every
// contraction runs on the device, and what is not in use there stays there (docs/blocks.md, "A real molecule").
//
//   g++ -std=c++17 -O2 examples/ccsd_energy.cpp -o ccsd_energy $(pkg-config --cflags --libs blastoff) -lblas
//   ./ccsd_energy water.fcidump
//
// FCIDUMP is the file of integrals that programs of quantum chemistry exchange. PySCF writes it, and tells the energy
// that this program should find:
//
//   mf = pyscf.scf.RHF(pyscf.M(atom="O 0 0 0; H 0 -0.757 0.587; H 0 0.757 0.587", basis="sto-3g")).run()
//   pyscf.tools.fcidump.from_scf(mf, "water.fcidump"); pyscf.cc.CCSD(mf).run()
//
// The equations are those of T. Helgaker, P. Jorgensen, J. Olsen, Molecular Electronic-Structure Theory, section 13.7:
// singles are in the integrals. Letters name the kind of an index: i to l occupied, a to d virtual, m to s any orbital.
#include <algorithm>
#include <blastoff/blocks.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using blastoff::Block;

namespace {

// ---- The molecule

struct Molecule {
  int orbitals = 0, occupied = 0;
  double core = 0;        ///< energy of the nuclei
  std::vector<double> h;  ///< integrals over one electron, orbitals^2
  std::vector<double> g;  ///< (mn|rs), orbitals^4

  int virtuals() const { return orbitals - occupied; }
  std::size_t at(int m, int n) const { return static_cast<std::size_t>(n * orbitals + m); }
  std::size_t at(int m, int n, int r, int s) const {
    return at(m, n) + at(r, s) * static_cast<std::size_t>(orbitals) * static_cast<std::size_t>(orbitals);
  }
};

/// The whole number after `name` in the head of the file.
int number_of(const std::string& head, const std::string& name) {
  const std::size_t found = head.find(name + "=");
  if (found == std::string::npos) throw std::runtime_error("not an FCIDUMP file: its head has no " + name);
  return std::atoi(head.c_str() + found + name.size() + 1);
}

Molecule read_fcidump(const std::string& file) {
  std::ifstream input(file);
  if (!input) throw std::runtime_error(file + " cannot be read");
  std::string head;
  for (std::string line; std::getline(input, line);) {
    head += line;
    if (line.find("&END") != std::string::npos || line.find('/') != std::string::npos) break;
  }
  Molecule molecule;
  molecule.orbitals = number_of(head, "NORB");
  const int electrons = number_of(head, "NELEC");
  molecule.occupied = electrons / 2;
  if (electrons % 2 != 0 || molecule.occupied < 1 || molecule.virtuals() < 1)
    throw std::runtime_error("a closed shell with virtual orbitals is accepted, not " + std::to_string(electrons) +
                             " electrons in " + std::to_string(molecule.orbitals) + " orbitals");
  const auto n = static_cast<std::size_t>(molecule.orbitals);
  molecule.h.assign(n * n, 0);
  molecule.g.assign(n * n * n * n, 0);
  double value = 0;
  for (int m = 0, p = 0, r = 0, s = 0; input >> value >> m >> p >> r >> s;) {
    for (const int index : {m, p, r, s})
      if (index < 0 || index > molecule.orbitals) throw std::runtime_error("an orbital beyond NORB");
    if (m == 0) {
      molecule.core = value;
    } else if (r > 0) {
      for (const auto& [first, second] : {std::pair(m - 1, p - 1), std::pair(p - 1, m - 1)})
        for (const auto& [third, fourth] : {std::pair(r - 1, s - 1), std::pair(s - 1, r - 1)})
          molecule.g[molecule.at(first, second, third, fourth)] =
              molecule.g[molecule.at(third, fourth, first, second)] = value;
    } else if (p > 0) {  // else the energy of an orbital
      molecule.h[molecule.at(m - 1, p - 1)] = molecule.h[molecule.at(p - 1, m - 1)] = value;
    }
  }
  if (!input.eof()) throw std::runtime_error("a line of " + file + " is no value with four orbitals");
  return molecule;
}

/// The matrix of the Hartree-Fock operator, for the orbitals of the file.
std::vector<double> fock(const Molecule& molecule) {
  std::vector<double> result = molecule.h;
  for (int m = 0; m < molecule.orbitals; ++m)
    for (int n = 0; n < molecule.orbitals; ++n)
      for (int k = 0; k < molecule.occupied; ++k)
        result[molecule.at(m, n)] += 2 * molecule.g[molecule.at(m, n, k, k)] - molecule.g[molecule.at(m, k, k, n)];
  return result;
}

// ---- Coupled cluster

/// A block with a letter for each index; the letter tells the length, and the first index is contiguous.
struct Named {
  const Block& block;
  std::string letters;
};

class Amplitudes {
 public:
  explicit Amplitudes(const Molecule& molecule)
      : molecule_(molecule),
        fock_(fock(molecule)),
        t1_(size("ai")),
        g_(filled(molecule.g)),
        coulomb_(make("kcld")),
        antisymmetric_(make("kcld")),
        xo_(make("mk")),
        xv_(make("ma")),
        yo_(make("mk")),
        yv_(make("ma")),
        t2_(make("aibj")),
        u_(make("aibj")) {
    const int o = molecule.occupied, v = molecule.virtuals();
    const auto direct = coulomb_.write(), both = antisymmetric_.write();
    std::size_t at = 0;
    for (int d = o; d < o + v; ++d)
      for (int l = 0; l < o; ++l)
        for (int c = o; c < o + v; ++c)
          for (int k = 0; k < o; ++k, ++at) {
            direct.as<double>()[at] = molecule.g[molecule.at(k, c, l, d)];
            both.as<double>()[at] = 2 * molecule.g[molecule.at(k, c, l, d)] - molecule.g[molecule.at(k, d, l, c)];
          }
    const auto zero = t2_.write(), none = u_.write();
    for (std::size_t i = 0; i < size("aibj"); ++i) zero.as<double>()[i] = none.as<double>()[i] = 0;
  }

  double reference_energy() const {
    double energy = molecule_.core;
    for (int k = 0; k < molecule_.occupied; ++k) energy += molecule_.h[molecule_.at(k, k)] + fock_[molecule_.at(k, k)];
    return energy;
  }

  /// One iteration. Returns the correlation energy; after the first one, that of second order (MP2).
  double iterate() {
    put_singles_in_integrals();
    const Block mean = mean_field();
    Block one = singles(mean);
    Block two = dressed("aibj");
    doubles(two);
    Block half = make("aibj");
    halves(mean, half);
    return update(one, two, half);
  }

 private:
  int length(char letter) const {
    if (letter >= 'i' && letter <= 'l') return molecule_.occupied;
    return letter >= 'a' && letter <= 'd' ? molecule_.virtuals() : molecule_.orbitals;
  }
  std::size_t size(const std::string& letters) const {
    std::size_t product = 1;
    for (const char letter : letters) product *= static_cast<std::size_t>(length(letter));
    return product;
  }
  Block make(const std::string& letters) const { return Block::of<double>(size(letters)); }
  static Block filled(const std::vector<double>& values) {
    Block block = Block::of<double>(values.size());
    std::copy(values.begin(), values.end(), block.write().as<double>());
    return block;
  }
  blastoff::Tensor tensor(const Named& named) const {
    std::vector<long long> lengths;
    for (const char letter : named.letters) lengths.push_back(length(letter));
    return blastoff::Tensor(named.block, named.letters, lengths);
  }
  void contract(double alpha, const Named& a, const Named& b, double beta, const Named& c) const {
    blastoff::contract(alpha, tensor(a), tensor(b), beta, tensor(c), place_);
  }
  /// alpha a b
  Block product(double alpha, const Named& a, const Named& b, const std::string& letters) const {
    Block block = make(letters);
    contract(alpha, a, b, 0.0, {block, letters});
    return block;
  }
  /// result += alpha a b
  void add(double alpha, const Named& a, const Named& b, const Named& result) const {
    contract(alpha, a, b, 1.0, result);
  }

  /// The orbitals of an index of the integrals with singles: the first of an electron is created, the second destroyed.
  Named orbitals(char letter, std::size_t position, char from) const {
    const bool created = position % 2 == 0, occupied = letter >= 'i';
    const Block& block = created ? (occupied ? xo_ : xv_) : (occupied ? yo_ : yv_);
    return {block, std::string{from, letter}};
  }
  /// result = alpha (the integrals with singles that `letters` name) + beta result
  void dress(double alpha, const std::string& letters, double beta, const Named& result) const {
    std::string now = "mnrs";
    const Block* from = &g_;
    Block kept;
    for (std::size_t i = 0; i < 3; ++i) {
      std::string next = now;
      next[i] = letters[i];
      kept = product(1.0, {*from, now}, orbitals(letters[i], i, now[i]), next);
      from = &kept;
      now = next;
    }
    contract(alpha, {kept, now}, orbitals(letters[3], 3, 's'), beta, result);
  }
  Block dressed(const std::string& letters) const {
    Block block = make(letters);
    dress(1.0, letters, 0.0, {block, letters});
    return block;
  }
  /// A part of the mean field with singles.
  Block part(const Block& mean, const std::string& letters) const {
    const Block half = product(1.0, {mean, "mn"}, orbitals(letters[0], 0, 'm'), std::string{letters[0], 'n'});
    return product(1.0, {half, std::string{letters[0], 'n'}}, orbitals(letters[1], 1, 'n'), letters);
  }

  void put_singles_in_integrals() {
    const int o = molecule_.occupied, v = molecule_.virtuals(), n = molecule_.orbitals;
    const auto xo = xo_.write(), xv = xv_.write(), yo = yo_.write(), yv = yv_.write();
    for (int m = 0; m < n; ++m) {
      for (int k = 0; k < o; ++k) {
        xo.as<double>()[k * n + m] = m == k;
        yo.as<double>()[k * n + m] = m < o ? m == k : t1_[static_cast<std::size_t>(k * v + m - o)];
      }
      for (int a = 0; a < v; ++a) {
        xv.as<double>()[a * n + m] = m >= o ? m - o == a : -t1_[static_cast<std::size_t>(m * v + a)];
        yv.as<double>()[a * n + m] = m - o == a;
      }
    }
  }

  Block mean_field() const {
    Block mean = filled(molecule_.h);
    const Block density = product(1.0, {xo_, "rk"}, {yo_, "sk"}, "rs");
    add(2.0, {g_, "mnrs"}, {density, "rs"}, {mean, "mn"});
    add(-1.0, {g_, "msrn"}, {density, "rs"}, {mean, "mn"});
    return mean;
  }

  Block singles(const Block& mean) const {
    Block one = part(mean, "ai");
    add(1.0, {u_, "ckdi"}, {dressed("adkc"), "adkc"}, {one, "ai"});
    add(-1.0, {u_, "akcl"}, {dressed("kilc"), "kilc"}, {one, "ai"});
    add(1.0, {u_, "aick"}, {part(mean, "kc"), "kc"}, {one, "ai"});
    return one;
  }

  /// Terms that are symmetric already: the ladders of virtual and of occupied orbitals.
  void doubles(Block& two) const {
    add(1.0, {t2_, "cidj"}, {dressed("acbd"), "acbd"}, {two, "aibj"});
    Block occupied = dressed("kilj");
    add(1.0, {t2_, "cidj"}, {coulomb_, "kcld"}, {occupied, "kilj"});
    add(1.0, {t2_, "akbl"}, {occupied, "kilj"}, {two, "aibj"});
  }

  /// Terms to which the same with (a, i) and (b, j) exchanged belong.
  void halves(const Block& mean, Block& half) const {
    Block exchange = dressed("kiac");
    add(-0.5, {t2_, "aldi"}, {coulomb_, "kdlc"}, {exchange, "kiac"});
    contract(-0.5, {t2_, "bkcj"}, {exchange, "kiac"}, 0.0, {half, "aibj"});
    add(-1.0, {t2_, "bkci"}, {exchange, "kjac"}, {half, "aibj"});

    Block direct = make("aikc");
    dress(2.0, "aikc", 0.0, {direct, "aikc"});
    dress(-1.0, "acki", 1.0, {direct, "aikc"});
    add(0.5, {u_, "aidl"}, {antisymmetric_, "ldkc"}, {direct, "aikc"});
    add(0.5, {u_, "bjck"}, {direct, "aikc"}, {half, "aibj"});

    Block virtuals = part(mean, "bc");
    add(-1.0, {u_, "bkdl"}, {coulomb_, "ldkc"}, {virtuals, "bc"});
    add(1.0, {t2_, "aicj"}, {virtuals, "bc"}, {half, "aibj"});
    Block occupied = part(mean, "kj");
    add(1.0, {u_, "cldj"}, {coulomb_, "kdlc"}, {occupied, "kj"});
    add(-1.0, {t2_, "aibk"}, {occupied, "kj"}, {half, "aibj"});
  }

  /// Adds the residuals, divided by the energies, to the amplitudes. Returns the correlation energy.
  double update(Block& one, Block& two, Block& half) {
    const int o = molecule_.occupied, v = molecule_.virtuals();
    const auto gap = [&](int a, int i) { return fock_[molecule_.at(i, i)] - fock_[molecule_.at(o + a, o + a)]; };
    const auto at = [=](int a, int i) { return static_cast<std::size_t>(i * v + a); };
    const std::size_t pairs = size("ai");
    const auto w1 = one.read(), w2 = two.read(), r = half.read(), l = antisymmetric_.read();
    const auto t2 = t2_.update(), u = u_.write();
    for (int i = 0; i < o; ++i)
      for (int a = 0; a < v; ++a) t1_[at(a, i)] += w1.as<double>()[at(a, i)] / gap(a, i);
    double energy = 0;
    for (int j = 0; j < o; ++j)
      for (int b = 0; b < v; ++b)
        for (int i = 0; i < o; ++i)
          for (int a = 0; a < v; ++a) {
            const std::size_t here = at(a, i) + pairs * at(b, j), exchanged = at(b, j) + pairs * at(a, i);
            double& t = t2.as<double>()[here];
            t += (w2.as<double>()[here] + r.as<double>()[here] + r.as<double>()[exchanged]) / (gap(a, i) + gap(b, j));
            const auto of_l = static_cast<std::size_t>(((b * o + j) * v + a) * o + i);
            energy += l.as<double>()[of_l] * (t + t1_[at(a, i)] * t1_[at(b, j)]);
          }
    for (int j = 0; j < o; ++j)
      for (int b = 0; b < v; ++b)
        for (int i = 0; i < o; ++i)
          for (int a = 0; a < v; ++a)
            u.as<double>()[at(a, i) + pairs * at(b, j)] =
                2 * t2.as<double>()[at(a, i) + pairs * at(b, j)] - t2.as<double>()[at(b, i) + pairs * at(a, j)];
    return energy;
  }

  const Molecule& molecule_;
  const std::vector<double> fock_;
  const int place_ = blastoff::devices() > 0 ? 0 : blastoff::host;
  std::vector<double> t1_;   ///< (a, i)
  Block g_;                  ///< (mn|rs)
  Block coulomb_;            ///< (kc|ld)
  Block antisymmetric_;      ///< 2 (kc|ld) - (kd|lc)
  Block xo_, xv_, yo_, yv_;  ///< orbitals with singles
  Block t2_, u_;             ///< (a, i, b, j)
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int most_iterations = 200;
  constexpr double converged = 1e-10;
  if (argc != 2) {
    std::fprintf(stderr, "ccsd_energy: one FCIDUMP file is accepted\n");
    return 2;
  }
  try {
    const Molecule molecule = read_fcidump(argv[1]);
    std::printf("%d orbitals, %d of them occupied; %d devices\n", molecule.orbitals, molecule.occupied,
                blastoff::devices());
    const auto begin = std::chrono::steady_clock::now();
    Amplitudes amplitudes(molecule);
    double energy = amplitudes.iterate();
    std::printf("Hartree-Fock      %16.10f\nMP2 correlation   %16.10f\n", amplitudes.reference_energy(), energy);
    int iterations = 1;
    double change = energy;
    for (; std::abs(change) > converged && iterations < most_iterations; ++iterations) {
      const double next = amplitudes.iterate();
      change = next - energy;
      energy = next;
    }
    if (!(std::abs(change) <= converged)) throw std::runtime_error("no convergence within 200 iterations");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const blastoff::Counters counted = blastoff::counters();
    std::printf("CCSD correlation  %16.10f\nCCSD              %16.10f\n", energy,
                amplitudes.reference_energy() + energy);
    std::printf("%d iterations, %.3f s, %.1f GFLOP/s; %.4f GB to devices, %.4f GB from them\n", iterations, seconds,
                1e-9 * static_cast<double>(counted.flops) / seconds,
                1e-9 * static_cast<double>(counted.bytes_to_device),
                1e-9 * static_cast<double>(counted.bytes_from_device));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ccsd_energy: %s\n", error.what());
    return 1;
  }
}
