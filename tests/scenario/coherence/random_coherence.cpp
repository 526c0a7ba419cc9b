// An ordinary program that calls BLAS, LAPACK and FFTW at random, does everything in between that programs do to their
// memory, and checks every byte. It does not use Blastoff itself: run it under the preloaded library.
//
//   random_coherence [--seed N] [--steps N] [--threads N] [--max-size N]
//
// The actions of a run depend only on its arguments, except for addresses and the interleaving of threads. Exits with 1
// at the first wrong byte, and names it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <thread>

#include "onlookers.h"
#include "player.h"

namespace {

using namespace coherence;
using blastoff::blas::Scalar;

constexpr std::int64_t rounds = 3;  // threads end and new ones start, so that stacks are used again

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const long long value = atoll(arguments[i + 1]);
    if (strcmp(arguments[i], "--seed") == 0) {
      options.seed = static_cast<std::uint64_t>(value);
    } else if (strcmp(arguments[i], "--steps") == 0) {
      options.steps = value;
    } else if (strcmp(arguments[i], "--threads") == 0) {
      options.threads = value;
    } else if (strcmp(arguments[i], "--max-size") == 0) {
      options.max_size = value;
    } else if (strcmp(arguments[i], "--forks") == 0) {
      options.forks = value != 0;
    } else {
      fprintf(stderr, "random_coherence: unknown option %s\n", arguments[i]);
      exit(2);
    }
  }
  if (count % 2 == 0 || options.steps < 1 || options.threads < 1 || options.threads > 16 || options.max_size < 1) {
    fprintf(stderr, "usage: random_coherence [--seed N] [--steps N] [--threads 1..16] [--max-size N] [--forks 0|1]\n");
    exit(2);
  }
  return options;
}

void prepare(Common& common, const Options& options, Random& random) {
  common.stripe_rows = options.max_size / 2 + 3;  // such a number that stripes begin within pages
  common.stripe_columns = options.max_size;
  const auto elements = static_cast<std::size_t>(common.stripe_rows * options.threads * common.stripe_columns);
  for (const Scalar scalar : {Scalar::s, Scalar::d, Scalar::c, Scalar::z}) {
    const auto index = static_cast<std::size_t>(scalar);
    const std::size_t element = blastoff::blas::element_size(scalar);
    common.written_by_all[index] = static_cast<char*>(malloc(elements * element));
    const std::int64_t side = options.max_size * 2;
    const auto bytes = static_cast<std::size_t>(side * side) * element;
    auto& matrix = common.read_by_all[index].matrix;
    matrix = std::make_unique<Matrix>(allocate(Storage::heap, bytes, random), scalar, side, side, side);
    const Box all{0, 0, side, side};
    matrix->randomise_shadow(all, 0.5 / static_cast<double>(options.max_size), random);
    matrix->store(all, random);
  }
}

}  // namespace

int main(int count, char** arguments) {
  Options options = parse(count, arguments);
  options.steps = (options.steps + rounds - 1) / rounds;
  start_outsider();
  static Common common;
  Random random(options.seed, 0);
  prepare(common, options, random);
  std::atomic<std::int64_t> calls{0}, factorizations{0}, transforms{0};
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<std::thread> threads;
    for (std::int64_t thread = 0; thread < options.threads; ++thread) {
      threads.emplace_back([&, thread] {
        Player player(options, common, thread, round + 1);
        player.play();
        calls += player.calls();
        factorizations += player.factorizations();
        transforms += player.transforms();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  printf("random_coherence: seed %llu: %lld calls right, %lld factorizations, %lld transforms\n",
         static_cast<unsigned long long>(options.seed), static_cast<long long>(calls),
         static_cast<long long>(factorizations), static_cast<long long>(transforms));
}
