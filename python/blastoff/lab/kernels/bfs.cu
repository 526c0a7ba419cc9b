// Breadth-first search, one level a launch: nodes of the current level give their neighbours the next one.
extern "C" __global__ void expand(int nodes, int level, const int* starts, const int* neighbours, int* levels,
                                  int* changed) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || levels[node] != level) return;
  for (int edge = starts[node]; edge < starts[node + 1]; ++edge) {
    const int neighbour = neighbours[edge];
    if (levels[neighbour] < 0) {
      levels[neighbour] = level + 1;  // every thread that gets here writes the same value
      *changed = 1;
    }
  }
}
