// BLASTOFF_WORD_COUNT: how many words a call of a LAPACK routine passes.
#pragma once

#include "intercept/words.h"
#include "lapack/routines.def"

#define BLASTOFF_OF_REAL(real, complex) real
#define BLASTOFF_OF_COMPLEX(real, complex) complex
#define BLASTOFF_FOR_s BLASTOFF_OF_REAL
#define BLASTOFF_FOR_d BLASTOFF_OF_REAL
#define BLASTOFF_FOR_c BLASTOFF_OF_COMPLEX
#define BLASTOFF_FOR_z BLASTOFF_OF_COMPLEX
#define BLASTOFF_APPLY(macro, list) macro list
#define BLASTOFF_WORD_COUNT(kind, scalar) BLASTOFF_APPLY(BLASTOFF_FOR_##scalar, BLASTOFF_WORDS_OF_##kind)
