/*
 * cpu.h - compiling a loop twice, also for processors that can do more
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * BMI2 shifts by a variable amount in one instruction; AVX2 has vectors of eight
 * numbers.  Such a loop is an EACH function, as is everything it calls; one plain
 * function and one marked WITH_BMI2 or WITH_AVX2 consist of a call to it, and
 * have_bmi2() or have_avx2() chooses between them.  Both give the same result.
 */
#ifndef COLDPRESS_CPU_H
#define COLDPRESS_CPU_H

#include <stdbool.h>

#define EACH static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__)

#define WITH_BMI2 __attribute__((target("bmi2")))
#define WITH_AVX2 __attribute__((target("avx2")))

static inline bool
have_bmi2(void)
{
	return __builtin_cpu_supports("bmi2") != 0;
}

static inline bool
have_avx2(void)
{
	return __builtin_cpu_supports("avx2") != 0;
}

#else

#define WITH_BMI2
#define WITH_AVX2

static inline bool
have_bmi2(void)
{
	return false;
}

static inline bool
have_avx2(void)
{
	return false;
}

#endif

#endif
