// Copies the words of a tensor in another order (device/gpu/permutation_kernel.h). Adjacent threads write adjacent
// words: the first dimension is the one with the smallest stride in the destination. Each thread computes its indices
// from the number of its word. Strides are in bytes.

using uint64 = unsigned long long;

struct Shape {
  struct {
    unsigned extent;
    uint64 source_stride;
    uint64 destination_stride;
  } dimensions[9];
};

template <class Word>
__device__ void permute(char* destination, const char* source, unsigned words, unsigned dimensions,
                        const Shape& shape) {
  for (unsigned word = blockIdx.x * blockDim.x + threadIdx.x; word < words; word += gridDim.x * blockDim.x) {
    const char* from = source;
    char* to = destination;
    unsigned rest = word;
#pragma unroll 1
    for (unsigned i = 0; i < dimensions; ++i) {
      const auto& dimension = shape.dimensions[i];
      const unsigned coordinate = rest % dimension.extent;
      rest /= dimension.extent;
      from += coordinate * dimension.source_stride;
      to += coordinate * dimension.destination_stride;
    }
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
  }
}

extern "C" __global__ void permute_words4(char* destination, const char* source, unsigned words, unsigned dimensions,
                                          Shape shape) {
  permute<unsigned>(destination, source, words, dimensions, shape);
}
extern "C" __global__ void permute_words8(char* destination, const char* source, unsigned words, unsigned dimensions,
                                          Shape shape) {
  permute<uint64>(destination, source, words, dimensions, shape);
}
