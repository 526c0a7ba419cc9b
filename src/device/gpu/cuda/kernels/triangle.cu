// Copies a triangle with the blocks on its diagonal (device/gpu/matrix_kernels.h). The matrix consists of words of 4
// or 8 bytes; an element of 16 bytes is two words below each other. So no access is wider than an element's real
// number, to whose size complex elements are aligned. A block along x has a column; adjacent threads of blocks along y
// take adjacent words.
//
// Pitches are in bytes. words: in a full column. With column j in the block of columns [f, f + b), its words are
// [f per_element, (j + 1) per_element) or, if `lower`, [j per_element, min((f + b) per_element, words)).

using uint64 = unsigned long long;

template <class Word>
__device__ void copy_triangle(char* destination, const char* source, uint64 destination_pitch, uint64 source_pitch,
                              uint64 words, unsigned per_element, unsigned block_order, bool lower) {
  const unsigned column = blockIdx.x;
  const unsigned top = column / block_order * block_order;
  const uint64 begin = uint64{lower ? column : top} * per_element;
  const uint64 end = lower ? min(uint64{top + block_order} * per_element, words) : uint64{column + 1} * per_element;
  auto* const to = reinterpret_cast<Word*>(destination + column * destination_pitch) + begin;
  const auto* const from = reinterpret_cast<const Word*>(source + column * source_pitch) + begin;
  // Host memory is written over the bus in lines of 128 bytes. So the first thread of a warp begins with a line, and
  // the warp does not write two halves.
  const uint64 before = reinterpret_cast<uint64>(to) % 128 / sizeof(Word);  // words from the line's start
  const uint64 thread = blockIdx.y * blockDim.x + threadIdx.x;
  const uint64 threads = gridDim.y * blockDim.x;
  for (uint64 i = thread < before ? thread + threads : thread; i < end - begin + before; i += threads)
    to[i - before] = from[i - before];
}

extern "C" __global__ void copy_triangle_words4(char* destination, const char* source, uint64 destination_pitch,
                                                uint64 source_pitch, uint64 words, unsigned per_element,
                                                unsigned block_order, unsigned lower) {
  copy_triangle<unsigned>(destination, source, destination_pitch, source_pitch, words, per_element, block_order,
                          lower != 0);
}
extern "C" __global__ void copy_triangle_words8(char* destination, const char* source, uint64 destination_pitch,
                                                uint64 source_pitch, uint64 words, unsigned per_element,
                                                unsigned block_order, unsigned lower) {
  copy_triangle<uint64>(destination, source, destination_pitch, source_pitch, words, per_element, block_order,
                        lower != 0);
}
