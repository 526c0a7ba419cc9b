// The cheapest path down a grid, stepping straight or diagonally. A launch computes `steps` rows; each block keeps its
// columns and a halo of `steps` columns on either side in shared memory.
#define WIDTH 256

extern "C" __global__ void descend(int columns, int row, int steps, const int* weights, const int* from, int* to) {
  __shared__ int cost[2][WIDTH];
  const int t = threadIdx.x, useful = WIDTH - 2 * steps;
  const int column = (int)blockIdx.x * useful - steps + t;
  const bool inside = column >= 0 && column < columns;
  int now = 0;
  cost[now][t] = inside ? from[column] : 0x7fffffff;
  __syncthreads();
  for (int step = 1; step <= steps; ++step) {
    int best = cost[now][t];
    if (t > 0) best = min(best, cost[now][t - 1]);
    if (t < WIDTH - 1) best = min(best, cost[now][t + 1]);
    cost[1 - now][t] = inside ? best + weights[(long long)(row + step) * columns + column] : 0x7fffffff;
    now = 1 - now;
    __syncthreads();
  }
  if (inside && t >= steps && t < WIDTH - steps) to[column] = cost[now][t];
}
