// BLASTOFF_WORD_COUNT: how many words a call of a LAPACK routine passes. lapack/arguments.h has the same numbers.
#pragma once

#include "intercept/words.h"
#include "lapack/routines.def"

// (number for real types, number for complex types): the addresses and the lengths of the letters.
#define BLASTOFF_WORDS_OF_potrf (6, 6)
#define BLASTOFF_WORDS_OF_potrs (9, 9)
#define BLASTOFF_WORDS_OF_posv (9, 9)
#define BLASTOFF_WORDS_OF_potri (6, 6)
#define BLASTOFF_WORDS_OF_getrf (6, 6)
#define BLASTOFF_WORDS_OF_getrs (10, 10)
#define BLASTOFF_WORDS_OF_gesv (8, 8)
#define BLASTOFF_WORDS_OF_getri (7, 7)
#define BLASTOFF_WORDS_OF_laswp (7, 7)
#define BLASTOFF_WORDS_OF_trtri (8, 8)
#define BLASTOFF_WORDS_OF_trtrs (13, 13)
#define BLASTOFF_WORDS_OF_geqrf (8, 8)
#define BLASTOFF_WORDS_OF_orgqr (9, 9)
#define BLASTOFF_WORDS_OF_ormqr (15, 15)
#define BLASTOFF_WORDS_OF_gels (12, 12)
#define BLASTOFF_WORDS_OF_syev (11, 12)
#define BLASTOFF_WORDS_OF_syevd (13, 15)
#define BLASTOFF_WORDS_OF_syevr (24, 26)
#define BLASTOFF_WORDS_OF_syevx (23, 24)
#define BLASTOFF_WORDS_OF_sygv (14, 15)
#define BLASTOFF_WORDS_OF_sygvd (16, 18)
#define BLASTOFF_WORDS_OF_sygvx (26, 27)
#define BLASTOFF_WORDS_OF_spev (11, 12)
#define BLASTOFF_WORDS_OF_spevd (14, 16)
#define BLASTOFF_WORDS_OF_spevx (21, 22)
#define BLASTOFF_WORDS_OF_spgv (13, 14)
#define BLASTOFF_WORDS_OF_spgvd (16, 18)
#define BLASTOFF_WORDS_OF_spgvx (23, 24)
#define BLASTOFF_WORDS_OF_gesdd (15, 16)
#define BLASTOFF_WORDS_OF_gesvd (16, 17)
#define BLASTOFF_WORDS_OF_geev (16, 16)

#define BLASTOFF_OF_REAL(real, complex) real
#define BLASTOFF_OF_COMPLEX(real, complex) complex
#define BLASTOFF_FOR_s BLASTOFF_OF_REAL
#define BLASTOFF_FOR_d BLASTOFF_OF_REAL
#define BLASTOFF_FOR_c BLASTOFF_OF_COMPLEX
#define BLASTOFF_FOR_z BLASTOFF_OF_COMPLEX
#define BLASTOFF_APPLY(macro, list) macro list
#define BLASTOFF_WORD_COUNT(kind, scalar) BLASTOFF_APPLY(BLASTOFF_FOR_##scalar, BLASTOFF_WORDS_OF_##kind)
