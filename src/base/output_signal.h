/*
 * output_signal.h - the temporary name that a signal must remove
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OUTPUT_SIGNAL_H
#define COLDPRESS_OUTPUT_SIGNAL_H

#include "base/output.h"

/*
 * From now on a signal calls a->remove, which must be async-signal-safe.  To be
 * called before the name is created, so that no signal is missed.  A process
 * can arm one output at a time; nothing is removed for a second one.
 */
void output_arm(const struct output_armed *a);

/* To be called before closing a descriptor that a->remove uses. */
void output_disarm(const struct output_armed *a);

#endif
