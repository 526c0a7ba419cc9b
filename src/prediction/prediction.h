// The work of `blastoff predict`: replays traces on one machine.
#pragma once

#include <string>

#include "config/settings.h"

namespace blastoff::prediction {

/// `request` is JSON with these keys: traces (paths); machine (the text of a model) or simulated (rates, as
/// --simulated-rates takes them); source (the text of a model of the CPU on which the traces were taken), if there is
/// one; gpus, ranks_per_gpu. The settings are those of a run: policy, min-size, decide, start, device-memory. Returns
/// JSON: {"error": one line}, or a machine of share/prediction.schema.json without its label.
std::string prediction_json(const config::Settings& settings, const std::string& request);

}  // namespace blastoff::prediction
