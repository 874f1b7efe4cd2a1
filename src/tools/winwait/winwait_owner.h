/*
 * winwait_owner.h - which process a window belongs to
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WINWAIT_OWNER_H
#define COLDPRESS_WINWAIT_OWNER_H

#include <stdbool.h>
#include <sys/types.h>
#include <xcb/xcb.h>

struct winwait_owner {
	xcb_connection_t *c;
	bool asks_server;		/* the server knows the PIDs of its
					 * clients, as we see them */
};

enum winwait_kin {
	KIN_UNKNOWN,			/* the process is not known */
	KIN_OURS,			/* it descends from winwait, as all of
					 * the command's processes do */
	KIN_OTHER
};

/* c must outlast o. */
void winwait_owner_open(struct winwait_owner *o, xcb_connection_t *c);

/*
 * Determines whose window this is.  named is the PID that its program has set
 * as a property, or 0, and machine that program's host name; they count only if
 * the server does not know the PID.  *pid becomes the PID, or 0.
 */
enum winwait_kin winwait_owner_of(const struct winwait_owner *o,
    xcb_window_t id, pid_t named, const char *machine, pid_t *pid);

#endif
