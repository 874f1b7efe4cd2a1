/*
 * output_signal.h - removing the temporary file when a signal arrives
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OUTPUT_SIGNAL_H
#define COLDPRESS_OUTPUT_SIGNAL_H

#include "base/output.h"

/*
 * Makes signals call a->remove, which must be async-signal-safe.  Call this
 * before creating the name, so that no signal is missed.  Only one output can
 * be armed at a time; a second one is not removed.
 */
void output_arm(const struct output_armed *a);

/*
 * Undoes output_arm().  Call this before closing a descriptor that a->remove
 * uses.
 */
void output_disarm(const struct output_armed *a);

#endif
