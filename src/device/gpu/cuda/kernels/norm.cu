// Sums or largest magnitudes of the lines of a matrix (device/gpu/matrix_kernels.h). A line is a column or a row. The
// positions of a line are cut into chunks, one for each block along y. If `by_warps` (columns), one warp has a line and
// its lanes take turns; otherwise (rows) each thread has a line. So neighbours read neighbours.
//
// line_pitch, position_pitch: bytes from line to line and from position to position. length: of a line. part: 0 full, 1
// positions up to the number of the line, 2 from there on. quantity: 0 magnitudes, 1 squares, 2 the largest magnitude.
// on_diagonal, beside: factors. Each number is first multiplied by `scale`. result: element chunk * lines + line.

using uint64 = unsigned long long;

template <class Real>
__device__ void reduce(const char* address, uint64 line_pitch, uint64 position_pitch, unsigned lines, unsigned length,
                       unsigned chunk, unsigned part, bool complex, bool by_warps, unsigned quantity,
                       bool real_diagonal, double on_diagonal, double beside, double scale, double* result) {
  const unsigned lane = by_warps ? threadIdx.x % 32 : 0;
  const unsigned lanes = by_warps ? 32 : 1;
  const unsigned chunk_begin = blockIdx.y * chunk;
  const unsigned chunk_end = min(chunk_begin + chunk, length);
  for (unsigned line = (blockIdx.x * blockDim.x + threadIdx.x) / lanes; line < lines;
       line += gridDim.x * blockDim.x / lanes) {
    const unsigned begin = part == 2 ? max(chunk_begin, line) : chunk_begin;
    const unsigned end = part == 1 ? min(chunk_end, line + 1) : chunk_end;
    double sum = 0;
    for (unsigned position = begin + lane; position < end; position += lanes) {
      const auto* const at = reinterpret_cast<const Real*>(address + line * line_pitch + position * position_pitch);
      const bool diagonal = position == line;
      const double re = at[0] * scale;
      const double im = complex && !(real_diagonal && diagonal) ? at[1] * scale : 0;
      const double square = fma(im, im, re * re);
      const double value = quantity == 1 ? square : complex ? sqrt(square) : fabs(re);
      sum = quantity == 2 ? fmax(sum, value) : fma(diagonal ? on_diagonal : beside, value, sum);
    }
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
      const double other = __shfl_down_sync(0xffffffff, sum, distance);
      sum = quantity == 2 ? fmax(sum, other) : sum + other;
    }
    if (lane == 0) result[uint64{blockIdx.y} * lines + line] = sum;
  }
}

extern "C" __global__ void norm_reals4(const char* address, uint64 line_pitch, uint64 position_pitch, unsigned lines,
                                       unsigned length, unsigned chunk, unsigned part, unsigned complex,
                                       unsigned by_warps, unsigned quantity, unsigned real_diagonal, double on_diagonal,
                                       double beside, double scale, double* result) {
  reduce<float>(address, line_pitch, position_pitch, lines, length, chunk, part, complex != 0, by_warps != 0, quantity,
                real_diagonal != 0, on_diagonal, beside, scale, result);
}
extern "C" __global__ void norm_reals8(const char* address, uint64 line_pitch, uint64 position_pitch, unsigned lines,
                                       unsigned length, unsigned chunk, unsigned part, unsigned complex,
                                       unsigned by_warps, unsigned quantity, unsigned real_diagonal, double on_diagonal,
                                       double beside, double scale, double* result) {
  reduce<double>(address, line_pitch, position_pitch, lines, length, chunk, part, complex != 0, by_warps != 0, quantity,
                 real_diagonal != 0, on_diagonal, beside, scale, result);
}
