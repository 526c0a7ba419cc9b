// The temperature of a chip: one explicit step of the heat equation with a source. Edges are insulated.
extern "C" __global__ void heat(int side, float step, float across, float up, float ambient, const float* power,
                                const float* from, float* to) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= side || column >= side) return;
  const long long at = (long long)row * side + column;
  const float here = from[at];
  const float north = row > 0 ? from[at - side] : here, south = row < side - 1 ? from[at + side] : here;
  const float west = column > 0 ? from[at - 1] : here, east = column < side - 1 ? from[at + 1] : here;
  to[at] = here + step * (power[at] + (north + south - 2.0f * here) * across + (east + west - 2.0f * here) * across +
                          (ambient - here) * up);
}
