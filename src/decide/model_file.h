// Reads a machine model from JSON text, by share/machine.schema.json.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "decide/machine_model.h"

namespace blastoff::decide {

struct ModelFile {
  MachineModel model;             ///< without rates of the CPU, which hold for one machine, BLAS and number of threads
  std::vector<std::string> gpus;  ///< names of the GPUs that it describes; * stands for any characters
  std::string host;               ///< machine on which the CPU was measured; "" if none was
  std::string cpu;                ///< name of the CPU
  int cores = 0;                  ///< CPUs that the measurement could use
  std::string blas;               ///< path or file name of the BLAS that was measured
  double cpu_memory_rate = 0;     ///< bytes per second, on all cores; 0: unknown
  std::vector<std::pair<int, RateTable>> cpu_rates;  ///< by number of threads, rising

  bool describes(std::string_view gpu) const;
  /// Returns the rates for so many threads. If they were not measured, takes those of the next smaller number, or of
  /// the smallest.
  const RateTable* cpu_rates_on(int threads) const;
};

/// The error says in a few words what is wrong with the text. Unknown keys are ignored: later versions may define them.
tl::expected<ModelFile, std::string> parse_model(std::string_view json);

/// Whether `text` is `pattern`, in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace blastoff::decide
