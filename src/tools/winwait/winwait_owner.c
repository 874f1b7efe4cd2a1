/*
 * winwait_owner.c - which process a window belongs to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server knows the PID of a local client (X-Resource extension, 1.2).  It is
 * a PID of the server's namespace: if our own one is not ours, these PIDs tell
 * nothing.  _NET_WM_PID is what the program believes: on another machine, or in
 * a PID namespace of its own, that means another process here.
 *
 * winwait adopts orphans, so every process that the command has started
 * descends from it.
 */
#include "winwait_owner.h"

#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef COLDPRESS_XCB_RES
#include <xcb/res.h>
#endif

enum { STATUS_B = 4096, DEPTH_MAX = 1 << 16, TRIES = 3 };

/* Processes */

/* Reads /proc/PID/status.  Returns whether there is such a process. */
static bool
read_status(pid_t pid, char text[STATUS_B])
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = sys_read(fd, text, STATUS_B - 1);
	sys_close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Returns the text after the name of a line, or NULL. */
static const char *
status_line(const char *text, const char *name)
{
	const char *s = strstr(text, name);

	return s == NULL ? NULL : s + strlen(name);
}

static pid_t
parent_of(pid_t pid)
{
	char text[STATUS_B];
	const char *s = read_status(pid, text) ?
	    status_line(text, "\nPPid:") : NULL;

	return s == NULL ? -1 : (pid_t)strtol(s, NULL, 10);
}

/*
 * Returns whether a process descends from us.  An ancestor may end meanwhile:
 * then its children have another parent.
 */
static enum winwait_kin
kin_of(pid_t pid)
{
	const pid_t self = getpid();

	for (int try = 0; try < TRIES; try++) {
		pid_t at = pid;

		for (int i = 0; at > 0 && at != self && i < DEPTH_MAX; i++)
			at = parent_of(at);
		if (at >= 0)
			return at == self ? KIN_OURS : KIN_OTHER;
	}
	return KIN_UNKNOWN;
}

/* Returns whether the process has this PID in one of its namespaces. */
static bool
is_called(pid_t pid, pid_t named)
{
	char text[STATUS_B], *end;
	const char *s = read_status(pid, text) ?
	    status_line(text, "\nNSpid:") : NULL;

	while (s != NULL) {
		long n = strtol(s, &end, 10);

		if (end == s)
			break;
		if (n == named)
			return true;
		s = end;
	}
	return false;
}

/*
 * Returns whether one of the command's processes has this PID in one of its
 * namespaces, or else whether any process has it in ours.
 */
static enum winwait_kin
kin_by_name(pid_t named)
{
	enum winwait_kin kin = kin_of(named);
	DIR *dir = kin == KIN_OURS ? NULL : opendir("/proc");
	const struct dirent *e;

	while (dir != NULL && kin != KIN_OURS && (e = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && is_called(pid, named) &&
		    kin_of(pid) == KIN_OURS)
			kin = KIN_OURS;
	}
	if (dir != NULL)
		closedir(dir);
	return kin;
}

/* The server */

#ifdef COLDPRESS_XCB_RES
/* Returns the PID of the client that has made a resource, or 0. */
static pid_t
pid_of_client(xcb_connection_t *c, uint32_t resource)
{
	const xcb_res_client_id_spec_t spec = { resource,
		XCB_RES_CLIENT_ID_MASK_LOCAL_CLIENT_PID };
	xcb_res_query_client_ids_reply_t *r = xcb_res_query_client_ids_reply(c,
	    xcb_res_query_client_ids(c, 1, &spec), NULL);
	xcb_res_client_id_value_iterator_t i;
	pid_t pid = 0;

	if (r == NULL)
		return 0;
	i = xcb_res_query_client_ids_ids_iterator(r);
	for (; i.rem > 0; xcb_res_client_id_value_next(&i))
		if ((i.data->spec.mask & spec.mask) != 0 &&
		    xcb_res_client_id_value_value_length(i.data) == 1)
			pid = (pid_t)*xcb_res_client_id_value_value(i.data);
	free(r);
	return pid;
}

static bool
has_pids(xcb_connection_t *c)
{
	const xcb_query_extension_reply_t *e = xcb_get_extension_data(c,
	    &xcb_res_id);
	xcb_res_query_version_reply_t *v = e == NULL || !e->present ? NULL :
	    xcb_res_query_version_reply(c, xcb_res_query_version(c, 1, 2),
	    NULL);
	bool is_new = v != NULL && (v->server_major > 1 ||
	    (v->server_major == 1 && v->server_minor >= 2));

	free(v);
	return is_new && pid_of_client(c,
	    xcb_get_setup(c)->resource_id_base) == getpid();
}
#else
static pid_t
pid_of_client(xcb_connection_t *c, uint32_t resource)
{
	(void)c;
	(void)resource;
	return 0;
}

static bool
has_pids(xcb_connection_t *c)
{
	(void)c;
	return false;
}
#endif

void
winwait_owner_open(struct winwait_owner *o, xcb_connection_t *c)
{
	*o = (struct winwait_owner){ .c = c, .asks_server = has_pids(c) };
}

static bool
is_here(const char *machine)
{
	char name[256];

	return gethostname(name, sizeof(name)) == 0 &&
	    strncmp(machine, name, sizeof(name)) == 0;
}

enum winwait_kin
winwait_owner_of(const struct winwait_owner *o, xcb_window_t id, pid_t named,
    const char *machine, pid_t *pid)
{
	*pid = o->asks_server ? pid_of_client(o->c, id) : 0;
	if (*pid > 0)
		return kin_of(*pid);
	if (named <= 0 || !is_here(machine))
		return KIN_UNKNOWN;
	*pid = named;
	return kin_by_name(named);
}
