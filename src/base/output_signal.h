/*
 * output_signal.h - the temporary name that a signal must remove
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OUTPUT_SIGNAL_H
#define COLDPRESS_OUTPUT_SIGNAL_H

#include "base/output.h"

/*
 * From now on a signal removes o->temp in o->dirfd, if that name exists.  To be
 * called before the name is created, so that no signal is missed.  A process
 * can arm one output at a time; nothing is removed for a second one.
 */
void output_arm(const struct output *o);

/* Disarms the removal; to be called before o->dirfd is closed. */
void output_disarm(const struct output *o);

#endif
