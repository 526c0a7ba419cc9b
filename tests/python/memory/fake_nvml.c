/* A libnvidia-ml.so.1 of one GPU, or of N by a line "gpus N". At every call it reads its figures from the file that
 * FAKE_NVML names: a line "whole BYTES", a line "process PID BYTES" for each process, a line "link KB" if it tells the
 * link's traffic, "energy MILLIJOULES" if it counts energy, and "power MILLIWATTS" if it tells the power. Each
 * look at the processes adds a byte to the file FAKE_NVML.looks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { success = 0, not_supported = 3, insufficient_size = 7, unknown_error = 999 };

struct memory {
  unsigned long long total, free, used;
};
struct process {
  unsigned pid;
  unsigned long long used;
  unsigned instance, compute_instance;
};

static FILE* said(void) {
  const char* const path = getenv("FAKE_NVML");
  return path != NULL ? fopen(path, "r") : NULL;
}

static void note_look(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s.looks", getenv("FAKE_NVML"));
  FILE* const file = fopen(path, "a");
  if (file == NULL) return;
  fputc('x', file);
  fclose(file);
}

int nvmlInit_v2(void) {
  FILE* const file = said();
  if (file == NULL) return unknown_error;
  fclose(file);
  return success;
}

int nvmlShutdown(void) {
  FILE* const file = fopen(getenv("FAKE_NVML"), "a");
  if (file == NULL) return unknown_error;
  fputs("closed\n", file);
  fclose(file);
  return success;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  char line[200];
  FILE* const file = said();
  *count = 1;
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "gpus %u", count);
  fclose(file);
  return success;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  snprintf(text, length, "GPU-fake-%u", (unsigned)(size_t)device - 1);
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = (void*)(size_t)(index + 1);
  return success;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  (void)device;
  snprintf(name, length, "fake GPU");
  return success;
}

int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  (void)device;
  char line[200];
  FILE* const file = said();
  memset(memory, 0, sizeof *memory);
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "whole %llu", &memory->used);
  fclose(file);
  return success;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process* processes) {
  (void)device;
  char line[200];
  unsigned found = 0;
  FILE* const file = said();
  while (fgets(line, sizeof line, file) != NULL) {
    struct process one = {0, 0, 0, 0};
    if (sscanf(line, "process %u %llu", &one.pid, &one.used) != 2) continue;
    if (found == *count) {
      fclose(file);
      return insufficient_size;
    }
    processes[found++] = one;
  }
  fclose(file);
  note_look();
  *count = found;
  return success;
}

struct place {
  char legacy[16];
  unsigned domain, bus, device, vendor, subsystem;
  char text[32];
};

int nvmlDeviceGetPciInfo_v3(void* device, struct place* place) {
  memset(place, 0, sizeof *place);
  place->domain = 0xfacade;
  place->bus = (unsigned)(size_t)device - 1;
  return success;
}

/* Whether the file has a line that matches the format; stores the number in it. */
static int number_of(const char* format, unsigned long long* number) {
  char line[200];
  int found = 0;
  FILE* const file = said();
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, format, number) == 1) found = 1;
  fclose(file);
  return found;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  (void)device;
  return number_of("energy %llu", millijoules) ? success : not_supported;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  (void)device;
  unsigned long long power = 0;
  const int found = number_of("power %llu", &power);
  *milliwatts = (unsigned)power;
  return found ? success : not_supported;
}

int nvmlDeviceGetPcieThroughput(void* device, unsigned counter, unsigned* kilobytes) {
  (void)device;
  char line[200];
  int status = not_supported;
  FILE* const file = said();
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "link %u", kilobytes) == 1) status = success;
  fclose(file);
  if (status == success) *kilobytes += counter; /* makes the two directions differ */
  return status;
}
