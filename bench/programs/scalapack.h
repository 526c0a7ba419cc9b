/* The routines of ScaLAPACK and BLACS that our programs call. */
#ifndef BLASTOFF_BENCH_SCALAPACK_H
#define BLASTOFF_BENCH_SCALAPACK_H

#include <complex.h>

void Cblacs_pinfo(int*, int*);
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
void Cblacs_gridexit(int);
int numroc_(const int*, const int*, const int*, const int*, const int*);
void descinit_(int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*,
               int*);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
             const int*, const int*, const double*, const int*, const int*, const int*, const double*, double*,
             const int*, const int*, const int*);
void pdtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
             const int*, const int*, const int*, double*, const int*, const int*, const int*);
void pdpotrf_(const char*, const int*, double*, const int*, const int*, const int*, int*);
void pdsygst_(const int*, const char*, const int*, double*, const int*, const int*, const int*, const double*,
              const int*, const int*, const int*, double*, int*);
void pdgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const int*, const int*,
             const double*, const int*, const int*, const int*, const int*, const double*, double*, const int*,
             const int*, const int*, const int*);
void pdtrmv_(const char*, const char*, const char*, const int*, const double*, const int*, const int*, const int*,
             double*, const int*, const int*, const int*, const int*);
void pdgetrf_(const int*, const int*, double*, const int*, const int*, const int*, int*, int*);
void pdgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, const int*, const int*,
              double*, const int*, const int*, const int*, int*);
void pdsyevd_(const char*, const char*, const int*, double*, const int*, const int*, const int*, double*, double*,
              const int*, const int*, const int*, double*, const int*, int*, const int*, int*);
void pzheevd_(const char*, const char*, const int*, double complex*, const int*, const int*, const int*, double*,
              double complex*, const int*, const int*, const int*, double complex*, const int*, double*, const int*,
              int*, const int*, int*);
void pzhegvx_(const int*, const char*, const char*, const char*, const int*, double complex*, const int*, const int*,
              const int*, double complex*, const int*, const int*, const int*, const double*, const double*, const int*,
              const int*, const double*, int*, int*, double*, const double*, double complex*, const int*, const int*,
              const int*, double complex*, const int*, double*, const int*, int*, const int*, int*, int*, double*,
              int*);

#endif
