/* The limit: the same operations as cuBLAS calls on matrices in device memory, and the bandwidth of the link.
 *
 *   limit [--cublas FILE] [--calls N] [--seconds S] [--streams N] [bandwidth] OPERATION...
 *
 * Waits for each call, as a program that needs the result does. --streams measures instead the rate of N busy streams
 * with separate matrices. Prints a JSON line for the device, then one per item. Ends with status 69 and one line on
 * stderr if there is no GPU or no cuBLAS. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "operation.h"

enum { NO_GPU = 69 /* EX_UNAVAILABLE */, WARM_UP = 3, LEAST_CALLS = 5, COPIES = 7 };

struct Options {
  const char* cublas;
  size_t calls, streams;
  double seconds;
};

static struct Cuda cuda;

/* One operation with its matrices on the device. */
struct Resident {
  const struct Operation* operation;
  DeviceAddress a, b, c;
  Stream stream;
  Handle handle;
};

static DeviceAddress upload(const struct Numbers* numbers, Stream stream) {
  size_t bytes = numbers->count * (numbers->single_precision ? sizeof(float) : sizeof(double));
  DeviceAddress address = 0;
  if (bytes == 0) return 0;
  check(cuda.allocate(&address, bytes), "allocating device memory");
  check(cuda.to_device(address, numbers->data, bytes, stream), "uploading");
  check(cuda.synchronize(stream), "uploading");
  return address;
}

static struct Resident create_resident(const struct Operation* operation, uint64_t seed) {
  struct Resident r = {.operation = operation};
  check(cuda.create_stream(&r.stream, 1 /* CU_STREAM_NON_BLOCKING */), "creating a stream");
  check(cuda.create_handle(&r.handle), "cublasCreate");
  check(cuda.set_stream(r.handle, r.stream), "cublasSetStream");
  struct Operands operands = create_operands(operation, seed);
  r.a = upload(&operands.a, r.stream);
  r.b = upload(&operands.b, r.stream);
  r.c = upload(&operands.c, r.stream);
  destroy_operands(&operands);
  return r;
}

static void destroy_resident(struct Resident* r) {
  check(cuda.destroy_handle(r->handle), "cublasDestroy");
  check(cuda.free(r->a), "freeing device memory");
  if (r->b) check(cuda.free(r->b), "freeing device memory");
  check(cuda.free(r->c), "freeing device memory");
}

static int transpose(char letter) {
  return letter == 'N' ? OPERATION_N : letter == 'T' ? OPERATION_T : OPERATION_C;
}

static void enqueue(const struct Resident* r) {
  static const float single_one[2] = {1, 0}, single_zero[2] = {0, 0};
  static const double double_one[2] = {1, 0}, double_zero[2] = {0, 0};
  const struct Operation* o = r->operation;
  int single = o->type == 's' || o->type == 'c';
  const void* one = single ? (const void*)single_one : (const void*)double_one;
  const void* zero = single ? (const void*)single_zero : (const void*)double_zero;
  size_t type = (size_t)(strchr("sdcz", o->type) - "sdcz");
  int lda = rows_of_a(o), ldb = rows_of_b(o), ldc = rows_of_c(o);
  if (o->kind == GEMM)
    check(cuda.gemm[type](r->handle, transpose(o->transa), transpose(o->transb), o->m, o->n, o->k, one, r->a, lda, r->b,
                          ldb, zero, r->c, ldc),
          "gemm");
  else if (o->kind == SYRK)
    check(cuda.syrk[type](r->handle, FILL_LOWER, OPERATION_N, o->n, o->k, one, r->a, lda, zero, r->c, ldc), "syrk");
  else
    check(cuda.trsm[type](r->handle, SIDE_LEFT, FILL_LOWER, OPERATION_N, DIAGONAL_NON_UNIT, o->m, o->n, one, r->a, lda,
                          r->c, ldc),
          "trsm");
}

static void wait_for(const struct Resident* r) {
  check(cuda.synchronize(r->stream), "waiting for the GPU");
}

static void measure_calls(const struct Operation* operation, const struct Options* options) {
  struct Resident resident = create_resident(operation, 0);
  double* samples = calloc(options->calls, sizeof *samples);
  if (!samples) fail("out of memory");
  for (int i = 0; i < WARM_UP; ++i) enqueue(&resident), wait_for(&resident);
  double started = now();
  size_t call = 0;
  for (; call < options->calls && (call < LEAST_CALLS || now() - started < options->seconds); ++call) {
    double before = now();
    enqueue(&resident);
    wait_for(&resident);
    samples[call] = now() - before;
  }
  printf("{\"program\": \"limit\", \"operation\": \"%s\", ", operation->text);
  print_statistics("seconds", summarize(samples, call));
  printf("}\n");
  fflush(stdout);
  free(samples);
  destroy_resident(&resident);
}

static void measure_rate(const struct Operation* operation, const struct Options* options) {
  struct Resident* residents = calloc(options->streams, sizeof *residents);
  if (!residents) fail("out of memory");
  for (size_t i = 0; i < options->streams; ++i) residents[i] = create_resident(operation, 10 * i);
  double seconds = 0;
  for (size_t round = 0; round <= 1; ++round) { /* the first round warms up */
    double before = now();
    for (size_t call = 0; call < options->calls; ++call)
      for (size_t i = 0; i < options->streams; ++i) enqueue(&residents[i]);
    for (size_t i = 0; i < options->streams; ++i) wait_for(&residents[i]);
    seconds = now() - before;
  }
  size_t calls = options->calls * options->streams;
  printf("{\"program\": \"limit\", \"operation\": \"%s\", \"streams\": %zu, \"calls\": %zu, \"rate\": %.9g}\n",
         operation->text, options->streams, calls, (double)calls / seconds);
  fflush(stdout);
  for (size_t i = 0; i < options->streams; ++i) destroy_resident(&residents[i]);
  free(residents);
}

static void measure_bandwidth(void) {
  const size_t bytes = (size_t)512 << 20;
  void *in, *out;
  DeviceAddress device_in, device_out;
  Stream up, down;
  check(cuda.allocate_pinned(&in, bytes, 0), "allocating pinned memory");
  check(cuda.allocate_pinned(&out, bytes, 0), "allocating pinned memory");
  check(cuda.allocate(&device_in, bytes), "allocating device memory");
  check(cuda.allocate(&device_out, bytes), "allocating device memory");
  check(cuda.create_stream(&up, 1), "creating a stream");
  check(cuda.create_stream(&down, 1), "creating a stream");
  memset(in, 1, bytes);
  memset(out, 2, bytes);

  double seconds[3][COPIES]; /* up, down, both at once */
  for (int i = 0; i < COPIES; ++i)
    for (int way = 0; way < 3; ++way) {
      double before = now();
      if (way != 1) check(cuda.to_device(device_in, in, bytes, up), "copying to the device");
      if (way != 0) check(cuda.to_host(out, device_out, bytes, down), "copying from the device");
      check(cuda.synchronize(up), "copying");
      check(cuda.synchronize(down), "copying");
      seconds[way][i] = now() - before;
    }
  double size = (double)bytes;
  printf("{\"program\": \"limit\", \"bandwidth\": {\"to_device\": %.9g, \"from_device\": %.9g, \"both\": %.9g}}\n",
         size / summarize(seconds[0], COPIES).median, size / summarize(seconds[1], COPIES).median,
         2 * size / summarize(seconds[2], COPIES).median);
  fflush(stdout);
  check(cuda.free_pinned(in), "freeing pinned memory");
  check(cuda.free_pinned(out), "freeing pinned memory");
  check(cuda.free(device_in), "freeing device memory");
  check(cuda.free(device_out), "freeing device memory");
}

static void print_device(void) {
  char name[256] = "";
  int driver = 0, cublas = 0, major = 0, minor = 0;
  size_t memory = 0;
  Handle handle;
  check(cuda.device_name(name, sizeof name, 0), "cuDeviceGetName");
  check(cuda.driver_version(&driver), "cuDriverGetVersion");
  check(cuda.device_memory(&memory, 0), "cuDeviceTotalMem");
  check(cuda.device_attribute(&major, ATTRIBUTE_COMPUTE_MAJOR, 0), "cuDeviceGetAttribute");
  check(cuda.device_attribute(&minor, ATTRIBUTE_COMPUTE_MINOR, 0), "cuDeviceGetAttribute");
  check(cuda.create_handle(&handle), "cublasCreate");
  check(cuda.cublas_version(handle, &cublas), "cublasGetVersion");
  check(cuda.destroy_handle(handle), "cublasDestroy");
  printf("{\"program\": \"limit\", \"device\": {\"name\": \"%s\", \"compute\": \"%d.%d\", \"memory\": %zu, ", name,
         major, minor, memory);
  printf("\"cuda_of_driver\": %d, \"cublas\": %d}}\n", driver, cublas);
  fflush(stdout);
}

int main(int count, char** arguments) {
  static const struct option known[] = {
      {"cublas", required_argument, NULL, 'b'},
      {"calls", required_argument, NULL, 'c'},
      {"seconds", required_argument, NULL, 's'},
      {"streams", required_argument, NULL, 't'},
      {NULL, 0, NULL, 0},
  };
  struct Options options = {.calls = 50, .seconds = 1};
  for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) switch (letter) {
      case 'b': options.cublas = optarg; break;
      case 'c': options.calls = strtoul(optarg, NULL, 10); break;
      case 's': options.seconds = strtod(optarg, NULL); break;
      case 't': options.streams = strtoul(optarg, NULL, 10); break;
      default: return 2;
    }
  if (optind == count || options.calls < LEAST_CALLS)
    fail("usage: limit [--cublas FILE] [--calls N] [--seconds S] [--streams N] [bandwidth] OPERATION..., N at least %d",
         LEAST_CALLS);
  const char* problem = open_cuda(&cuda, options.cublas);
  if (problem) {
    fprintf(stderr, "limit: no GPU to measure: %s\n", problem);
    return NO_GPU;
  }
  print_device();
  for (int i = optind; i < count; ++i) {
    if (strcmp(arguments[i], "bandwidth") == 0) {
      measure_bandwidth();
      continue;
    }
    struct Operation operation = parse_operation(arguments[i]);
    if (options.streams)
      measure_rate(&operation, &options);
    else
      measure_calls(&operation, &options);
  }
  return 0;
}
