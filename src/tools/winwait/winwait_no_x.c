/*
 * winwait_no_x.c - the substitute for winwait_x.c in builds without libxcb
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "winwait.h"

int
winwait_x_open(struct winwait *w)
{
	msg_error(&w->msg, "built without libxcb: only --criterion line "
	    "is available");
	return -1;
}

void
winwait_x_close(struct winwait_x *x)
{
	(void)x;
}

int
winwait_x_fd(const struct winwait_x *x)
{
	(void)x;
	return -1;
}

void
winwait_x_events(struct winwait *w, uint64_t now)
{
	(void)w;
	(void)now;
}
