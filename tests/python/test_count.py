"""--count: calls of functions that Blastoff does not take."""

import json
import subprocess

import offload
import pytest

BLAS = """
#include <time.h>
static void wait(double seconds) {
  struct timespec pause = {0, (long)(1e9 * seconds)};
  nanosleep(&pause, 0);
}
double ddot_(const int* n, const double* x, const int* incx, const double* y, const int* incy) {
  double sum = 0;
  for (int i = 0; i < *n; ++i) sum += x[i * *incx] * y[i * *incy];
  wait(0.02);
  return sum;
}
float sdot_(const int* n, const float* x, const int* incx, const float* y, const int* incy) {
  float sum = 0;
  time(0); /* a function that calls none cannot be patched */
  for (int i = 0; i < *n; ++i) sum += x[i * *incx] * y[i * *incy];
  return sum;
}
double _Complex zdotu_(const int* n, const double _Complex* x, const int* incx, const double _Complex* y, const int* incy) {
  double _Complex sum = 0;
  time(0); /* a function of the compiler's, which multiplies, lies in this library and does not count */
  for (int i = 0; i < *n; ++i) sum += x[i * *incx] * y[i * *incy];
  return sum;
}
double cblas_ddot(int n, const double* x, int incx, const double* y, int incy) { return ddot_(&n, x, &incx, y, &incy); }
void cblas_daxpy(int n, double alpha, const double* x, int incx, double* y, int incy) {
  time(0);
  for (int i = 0; i < n; ++i) y[i * incy] += alpha * x[i * incx];
}
void dcopy_(const int* n, const double* x, const int* incx, double* y, const int* incy) {
  if (*n < 0) __builtin_longjmp(*(void***)y, 1);
  for (int i = 0; i < *n; ++i) y[i * *incy] = x[i * *incx];
}
/* 20 arguments, of which the last 14 are on the stack. It calls a counted function. */
int pdsymv_(const int* a0, const int* a1, const int* a2, const int* a3, const int* a4, const int* a5, const int* a6, const int* a7,
            const int* a8, const int* a9, const int* a10, const int* a11, const int* a12, const int* a13, const int* a14, const int* a15,
            const int* a16, const int* a17, const int* a18, const int* a19) {
  const double x = 2;
  const int one = 1;
  wait(0.01);
  return (int)ddot_(&one, &x, &one, &x, &one) + *a0 + *a1 + *a2 + *a3 + *a4 + *a5 + *a6 + *a7 + *a8 + *a9 + *a10 + *a11 + *a12 + *a13 + *a14 +
         *a15 + *a16 + *a17 + *a18 + 100 * *a19;
}
double dnrm2(const int* n) {
  time(0);
  return *n;
}
void xerbla_(const char* name, const int* argument, unsigned long length) { (void)name, (void)argument, (void)length; }
"""

PROGRAM = """
#include <complex.h>
#include <pthread.h>
#include <stdio.h>
double ddot_(const int*, const double*, const int*, const double*, const int*);
float sdot_(const int*, const float*, const int*, const float*, const int*);
double _Complex zdotu_(const int*, const double _Complex*, const int*, const double _Complex*, const int*);
double cblas_ddot(int, const double*, int, const double*, int);
void cblas_daxpy(int, double, const double*, int, double*, int);
void dcopy_(const int*, const double*, const int*, double*, const int*);
int pdsymv_(const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*,
            const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*);
double dnrm2(const int*);
static const int one = 1, two = 2;
static const double x[2] = {1, 2};
static double y[2] = {3, 4};
static void* thread(void* unused) {
  for (int i = 0; i < 1000; ++i) dcopy_(&two, x, &one, y, &one);
  return unused;
}
int main(void) {
  const float single[2] = {1, 2};
  const double _Complex numbers[2] = {1 + 2 * I, 3};
  void* place[5];
  void* address = place;
  int n[20];
  for (int i = 0; i < 20; ++i) n[i] = i;
  printf("%g %g ", ddot_(&two, x, &one, y, &one), sdot_(&two, single, &one, single, &one));
  const double _Complex sum = zdotu_(&two, numbers, &one, numbers, &one);
  printf("%g %g ", creal(sum), cimag(sum));
  printf("%g ", cblas_ddot(2, x, 1, y, 1));
  cblas_daxpy(2, 0.5, x, 1, y, 1);
  printf("%g %g ", y[0], y[1]);
  if (__builtin_setjmp(place) == 0) {
    const int back = -1;
    dcopy_(&back, x, &one, (double*)&address, &one);
  }
  printf("%d ", pdsymv_(n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, n + 13, n + 14, n + 15,
                        n + 16, n + 17, n + 18, n + 19));
  printf("%g\\n", dnrm2(&two));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, thread, 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with a BLAS of its own."""
    folder = tmp_path_factory.mktemp("count")
    (folder / "blas.c").write_text(BLAS)
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", folder / "libown.so", folder / "blas.c"], check=True)
    linked = [folder / "libown.so", f"-Wl,-rpath,{folder}", "-pthread"]
    subprocess.run(["cc", "-O1", "-o", folder / "program", folder / "program.c", *linked], check=True)
    return folder / "program"


def run(program, tmp_path, *options):
    """Runs the program; returns what the command said and the counted routines."""
    report = tmp_path / "report.json"
    command = [offload.COMMAND, "run", "--device=none", f"--report={report}", *options, "--", program]
    done = subprocess.run(command, env=offload.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "11 5 6 4 11 3.5 5 2075 2\n", "all arguments and results pass through"
    found = json.loads(report.read_text())["interception"]["counted"] if report.exists() else []
    return done.stderr, {one["routine"]: one for one in found}


def test_all_functions_are_counted(program, tmp_path):
    said, counted = run(program, tmp_path, "--count")
    calls = {name: one["calls"] for name, one in counted.items()}
    # cblas_ddot hands its call on to ddot_, and pdsymv_ calls ddot_, too. A call that is left by longjmp is none. dnrm2 may be anybody's.
    assert calls == {"ddot": 3, "sdot": 1, "zdotu": 1, "daxpy": 1, "dcopy": 4000, "pdsymv": 1}
    assert {one["family"] for one in counted.values()} == {"level 1", "PBLAS"}
    outer, inner = counted["pdsymv"], counted["ddot"]
    assert outer["seconds"] >= 0.03 and 0.01 <= outer["own_seconds"] < outer["seconds"] - 0.019
    assert inner["own_seconds"] == pytest.approx(inner["seconds"], rel=0.05) and inner["seconds"] >= 0.06
    assert list(counted) == sorted(counted, key=lambda name: -counted[name]["own_seconds"])
    assert "counted" in said and "ddot: 3 calls, " in said and "dcopy: 4000 calls, " in said


@pytest.mark.parametrize(("what", "families"), [("level1", {"level 1"}), ("pblas", {"PBLAS"})])
def test_a_choice_of_functions(program, tmp_path, what, families):
    _, counted = run(program, tmp_path, f"--count={what}")
    assert {one["family"] for one in counted.values()} == families


def test_nothing_is_counted_unasked(program, tmp_path):
    said, counted = run(program, tmp_path)
    assert not counted and "ddot" not in said


OWN = """
#include <stdio.h>
#include <time.h>
struct many { double values[40]; };
__attribute__((noinline)) double ddot_(struct many x, double y) {
  time(0); /* a function that calls none cannot be patched */
  return x.values[0] + x.values[39] * y;
}
int main(void) {
  struct many x = {{1}};
  x.values[39] = 2;
  printf("%g\\n", ddot_(x, 3));
  return 0;
}
"""


def test_a_programs_own_function_of_such_a_name_is_left_alone(tmp_path):
    """The arguments on the stack are more than any routine has."""
    (tmp_path / "own.c").write_text(OWN)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "own", tmp_path / "own.c"], check=True)
    command = [offload.COMMAND, "run", "--device=none", "--count", "--", tmp_path / "own"]
    done = subprocess.run(command, env=offload.environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr
    assert "ddot" not in done.stderr


def test_a_value_that_is_not_accepted(program):
    done = subprocess.run([offload.COMMAND, "run", "--count=level3", "--", program], env=offload.environment(), capture_output=True, text=True)
    assert done.returncode == 2 and "none, level1, pblas or all" in done.stderr and len(done.stderr.splitlines()) == 1
