// Speckle-reducing anisotropic diffusion (Yu and Acton): the coefficient of diffusion, then the update. Edges are
// mirrored.
extern "C" __global__ void coefficient(int side, float speckle, const float* image, float* diffusion) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= side || column >= side) return;
  const long long at = (long long)row * side + column;
  const float here = image[at];
  const float north = image[row > 0 ? at - side : at] - here, south = image[row < side - 1 ? at + side : at] - here;
  const float west = image[column > 0 ? at - 1 : at] - here, east = image[column < side - 1 ? at + 1 : at] - here;
  const float gradient = (north * north + south * south + west * west + east * east) / (here * here);
  const float laplacian = (north + south + west + east) / here;
  const float numerator = 0.5f * gradient - 0.0625f * laplacian * laplacian;
  const float denominator = 1.0f + 0.25f * laplacian;
  const float variation = numerator / (denominator * denominator);
  const float value = 1.0f / (1.0f + (variation - speckle) / (speckle * (1.0f + speckle)));
  diffusion[at] = fminf(fmaxf(value, 0.0f), 1.0f);
}

extern "C" __global__ void diffuse(int side, float rate, const float* diffusion, const float* from, float* to) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= side || column >= side) return;
  const long long at = (long long)row * side + column;
  const long long below = row < side - 1 ? at + side : at, right = column < side - 1 ? at + 1 : at;
  const float here = from[at];
  const float north = from[row > 0 ? at - side : at] - here, south = from[below] - here;
  const float west = from[column > 0 ? at - 1 : at] - here, east = from[right] - here;
  const float divergence = diffusion[at] * (north + west) + diffusion[below] * south + diffusion[right] * east;
  to[at] = here + 0.25f * rate * divergence;
}

// The image from its compressed pixels.
extern "C" __global__ void exponentiate(long long count, const float* pixels, float* image) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
    image[i] = expf(pixels[i]);
}
