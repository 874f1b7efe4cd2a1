/*
 * mailgen_profile.c - what somebody's mail is like
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

void
mailgen_profile(struct mailgen *g)
{
	msg_error(&g->msg, "not yet");
}
