// What NVIDIA's libraries for many GPUs are expected to take for a call: by rates of one GPU and a simple formula, not
// by measurement.
#pragma once

#include <cstdint>

#include "decide/gathering.h"

namespace blastoff::decide {

/// So many columns of each matrix go at a time to a GPU of a row of a grid, in turn. Few are slow (docs/ranks.md). But
/// each GPU is to get some of the largest matrix several times. A team of GPUs is such a row.
std::int64_t columns_dealt(const operation::Operation& operation, int row);

/// GPUs that make a call together.
struct GpuGrid {
  int nodes = 1;
  int gpus_per_node = 1;
  /// Bytes per second that a node receives from other nodes. Only with several nodes.
  double bandwidth = 0;
  double latency = 0;  ///< seconds of a message between nodes

  int size() const { return nodes * gpus_per_node; }
};

struct LibrarySeconds {
  double computing = 0;
  double exchanging = 0;  ///< from GPU to GPU
  double moving = 0;      ///< from rank to rank of a node, and between host and GPUs

  double all() const { return computing + exchanging + moving; }
};

/// Each GPU computes its share at the rate of one GPU for so much work. It receives the elements of its rows and
/// columns of all matrices that the call reads (R. van de Geijn, J. Watts: SUMMA, 1997), columns_dealt()
/// at a time. In a node they
/// come over its own link. In several nodes, the GPUs of a node share the network. Each GPU has a link of its own, and
/// the ranks of each node copy their part of the matrices. `call`: of all ranks, as if they were on one node.
LibrarySeconds library_seconds(const MachineModel& model, const WholeCall& call, const GpuGrid& grid);

}  // namespace blastoff::decide
