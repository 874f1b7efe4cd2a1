/*
 * bmi2.h - compiling a loop twice, with and without BMI2
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * BMI2 shifts by a variable amount in one instruction.  A loop over bits is an
 * EACH function, as is everything it calls; one plain function and one marked
 * WITH_BMI2 consist of a call to it, and have_bmi2() chooses between them.
 * Both give the same result.
 */
#ifndef COLDPRESS_BMI2_H
#define COLDPRESS_BMI2_H

#include <stdbool.h>

#define EACH static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__)

#define WITH_BMI2 __attribute__((target("bmi2")))

static inline bool
have_bmi2(void)
{
	return __builtin_cpu_supports("bmi2") != 0;
}

#else

#define WITH_BMI2

static inline bool
have_bmi2(void)
{
	return false;
}

#endif

#endif
