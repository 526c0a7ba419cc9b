// Copies runs of words (device/gpu/run_copy_kernel.h). Blocks along x have a run each; adjacent threads of blocks along
// y take adjacent words.

using uint64 = unsigned long long;

struct Runs {
  struct {
    void* destination;
    const void* source;
    uint64 words;
  } runs[160];
};

template <class Word>
__device__ void copy_runs(const Runs& runs) {
  const auto& run = runs.runs[blockIdx.x];
  auto* const to = static_cast<Word*>(run.destination);
  const auto* const from = static_cast<const Word*>(run.source);
  for (uint64 word = blockIdx.y * blockDim.x + threadIdx.x; word < run.words; word += gridDim.y * blockDim.x)
    to[word] = from[word];
}

extern "C" __global__ void copy_runs_words4(Runs runs) {
  copy_runs<unsigned>(runs);
}
extern "C" __global__ void copy_runs_words8(Runs runs) {
  copy_runs<uint64>(runs);
}
