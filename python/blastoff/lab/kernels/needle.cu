// Needleman and Wunsch: the alignment scores of two sequences. A launch computes the tiles of one block diagonal;
// within a tile, the threads of one block follow its diagonals.
#define TILE 32

extern "C" __global__ void align(int length, int penalty, int diagonal, int first_tile, const int* similarity,
                                 int* score) {
  __shared__ int part[TILE + 1][TILE + 1];
  const int tile_column = first_tile + blockIdx.x, tile_row = diagonal - tile_column, t = threadIdx.x;
  const long long width = length + 1;
  // The row above the tile and the column left of it, with the corner.
  const long long corner = (long long)tile_row * TILE * width + (long long)tile_column * TILE;
  if (t == 0) part[0][0] = score[corner];
  part[0][t + 1] = score[corner + t + 1];
  part[t + 1][0] = score[corner + (t + 1) * width];
  __syncthreads();
  for (int step = 0; step < 2 * TILE - 1; ++step) {
    const int row = step - t, column = t;
    if (row >= 0 && row < TILE) {
      const long long at = ((long long)tile_row * TILE + row) * length + (long long)tile_column * TILE + column;
      const int match = part[row][column] + similarity[at];
      const int gap = max(part[row][column + 1], part[row + 1][column]) - penalty;
      part[row + 1][column + 1] = max(match, gap);
    }
    __syncthreads();
  }
  for (int row = 1; row <= TILE; ++row) score[corner + row * width + t + 1] = part[row][t + 1];
}
