// A machine model as it lies in a file: JSON by share/machine.schema.json.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "decide/machine_model.h"

namespace blastoff::decide {

struct ModelFile {
  MachineModel model;             ///< without rates of the CPU: those hold for one machine, BLAS and number of threads
  std::vector<std::string> gpus;  ///< names of GPUs that it describes, with * for anything
  std::string host;               ///< where the CPU was measured; "" if it was not
  std::string cpu;                ///< its name
  int cores = 0;                  ///< CPUs that the measurement could use
  std::string blas;               ///< path or file name of the BLAS that was measured
  double cpu_memory_rate = 0;     ///< bytes per second, on all cores; 0: unknown
  std::vector<std::pair<int, RateTable>> cpu_rates;  ///< by number of threads, rising

  bool describes(std::string_view gpu) const;
  /// The rates for that many threads: those measured with as many, or else with the next fewer, or with the fewest.
  const RateTable* cpu_rates_on(int threads) const;
};

/// The error is what is wrong with the text, in a few words. Keys that are not known are left for later versions.
tl::expected<ModelFile, std::string> parse_model(std::string_view json);

/// Whether `text` is `pattern`, in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace blastoff::decide
