/*
 * winwait_x.c - watching an X server for new windows
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A window manager lists the windows that it manages in _NET_CLIENT_LIST
 * (Extended Window Manager Hints, 1.5); without a window manager, or with one
 * that keeps no list, a window counts when it is mapped.  A managed window is
 * reparented, and the root then receives no events about it, so the events of
 * each window are selected as soon as it is created.
 *
 * Windows that existed before the command started are ignored, and so are those
 * of processes that do not descend from it.  A window that was ignored is
 * examined again when its type, class or title changes: some programs turn
 * their splash screen into the main window.
 *
 * On a busy machine an event may be read long after it happened.  Property
 * changes carry a timestamp: milliseconds on the server's own clock, truncated
 * to 32 bits.  Every timestamp precedes its arrival, so when the clocks are
 * compared, the timestamp with the shortest delay provides the tightest bound.
 *
 * The server knows the PID of a local client (X-Resource extension, 1.2).  It
 * is a PID of the server's namespace: if our own one is not ours, these PIDs
 * tell nothing.  _NET_WM_PID is what the program believes: on another machine,
 * or in a PID namespace of its own, that means another process here.  winwait
 * adopts orphans, so every process that the command has started descends from
 * it.
 */
#include "winwait.h"

#include "base/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xcb/xcb.h>
#ifdef COLDPRESS_XCB_RES
#include <xcb/res.h>
#endif

enum { LIST_MAX = 4096, WINDOWS_MAX = 1 << 16 };

enum { STAMPS = 8, MS = 1000000 };

enum { STATUS_B = 4096, DEPTH_MAX = 1 << 16, KIN_TRIES = 3 };

enum atom { CLIENT_LIST, SUPPORTED, WM_CHECK, WM_NAME, WM_PID, WM_TYPE,
    /* the types of windows */
    TYPE_NORMAL, TYPE_DESKTOP, TYPE_DIALOG, TYPE_SPLASH, TYPE_UTILITY,
    TYPE_DOCK, TYPE_TOOLBAR, TYPE_MENU, TYPE_DROPDOWN, TYPE_POPUP, TYPE_TOOLTIP,
    TYPE_NOTIFICATION, TYPE_COMBO, TYPE_DND, ATOMS };

/* What the type of a window means for a launch. */
enum kind {
	KIND_MAIN,			/* or unknown */
	KIND_DIALOG,
	KIND_SPLASH,
	KIND_OTHER			/* a part of the program's interface */
};

static const struct {
	const char *name;
	enum kind kind;			/* of a type of windows */
} atom_table[ATOMS] = {
	[CLIENT_LIST] = { "_NET_CLIENT_LIST", KIND_MAIN },
	[SUPPORTED] = { "_NET_SUPPORTED", KIND_MAIN },
	[WM_CHECK] = { "_NET_SUPPORTING_WM_CHECK", KIND_MAIN },
	[WM_NAME] = { "_NET_WM_NAME", KIND_MAIN },
	[WM_PID] = { "_NET_WM_PID", KIND_MAIN },
	[WM_TYPE] = { "_NET_WM_WINDOW_TYPE", KIND_MAIN },
	[TYPE_NORMAL] = { "_NET_WM_WINDOW_TYPE_NORMAL", KIND_MAIN },
	[TYPE_DESKTOP] = { "_NET_WM_WINDOW_TYPE_DESKTOP", KIND_MAIN },
	[TYPE_DIALOG] = { "_NET_WM_WINDOW_TYPE_DIALOG", KIND_DIALOG },
	[TYPE_SPLASH] = { "_NET_WM_WINDOW_TYPE_SPLASH", KIND_SPLASH },
	[TYPE_UTILITY] = { "_NET_WM_WINDOW_TYPE_UTILITY", KIND_OTHER },
	[TYPE_DOCK] = { "_NET_WM_WINDOW_TYPE_DOCK", KIND_OTHER },
	[TYPE_TOOLBAR] = { "_NET_WM_WINDOW_TYPE_TOOLBAR", KIND_OTHER },
	[TYPE_MENU] = { "_NET_WM_WINDOW_TYPE_MENU", KIND_OTHER },
	[TYPE_DROPDOWN] = { "_NET_WM_WINDOW_TYPE_DROPDOWN_MENU", KIND_OTHER },
	[TYPE_POPUP] = { "_NET_WM_WINDOW_TYPE_POPUP_MENU", KIND_OTHER },
	[TYPE_TOOLTIP] = { "_NET_WM_WINDOW_TYPE_TOOLTIP", KIND_OTHER },
	[TYPE_NOTIFICATION] = { "_NET_WM_WINDOW_TYPE_NOTIFICATION",
	    KIND_OTHER },
	[TYPE_COMBO] = { "_NET_WM_WINDOW_TYPE_COMBO", KIND_OTHER },
	[TYPE_DND] = { "_NET_WM_WINDOW_TYPE_DND", KIND_OTHER },
};

enum kin {
	KIN_UNKNOWN,			/* the process is not known */
	KIN_OURS,			/* it descends from winwait, as all of
					 * the command's processes do */
	KIN_OTHER
};

struct window {
	xcb_window_t id;
	xcb_window_t frame;		/* frame of the window manager, or 0 */
	uint64_t created_ns, mapped_ns;
	bool shown;			/* listed or, if there is no list,
					 * mapped */
	enum kin kin;		/* KIN_UNKNOWN: not asked yet, too */
};

struct winwait_x {
	xcb_connection_t *c;
	xcb_window_t root;
	xcb_atom_t atoms[ATOMS];
	bool managed;			/* a window manager keeps a list */
	bool knows_pids;		/* the server knows the PIDs of its
					 * clients, as we see them */
	uint32_t stamp_ms;		/* a timestamp of the server, */
	uint64_t stamp_ns;		/* and its latest possible time */
	struct window *windows;		/* created since the watch began */
	size_t count;
};

/* Returns a property of any type, to be freed with free(), or NULL. */
static xcb_get_property_reply_t *
property(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name)
{
	return xcb_get_property_reply(x->c, xcb_get_property(x->c, 0, id, name,
	    XCB_GET_PROPERTY_TYPE_ANY, 0, LIST_MAX), NULL);
}

/* Returns a property's 32-bit values; *n becomes their number. */
static const uint32_t *
values(const xcb_get_property_reply_t *r, size_t *n)
{
	*n = r == NULL || r->format != 32 ? 0 : r->value_len;
	return *n == 0 ? NULL : xcb_get_property_value(r);
}

/* Returns the first of a property's 32-bit values, or 0. */
static uint32_t
first_value(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name)
{
	xcb_get_property_reply_t *r = property(x, id, name);
	size_t n;
	const uint32_t *all = values(r, &n);
	uint32_t value = n == 0 ? 0 : all[0];

	free(r);
	return value;
}

/*
 * Copies the text of a property; two strings separated by NUL are joined by a
 * dot.  Returns whether the window exists.
 */
static bool
text_of(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name,
    char text[TEXT_B])
{
	xcb_get_property_reply_t *r = property(x, id, name);
	size_t n = r == NULL || r->format != 8 ? 0 :
	    (size_t)xcb_get_property_value_length(r);

	if (n > TEXT_B - 1)
		n = TEXT_B - 1;
	if (n > 0)
		memcpy(text, xcb_get_property_value(r), n);
	while (n > 0 && text[n - 1] == '\0')
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = '.';
	free(r);
	return r != NULL;
}

/*
 * Returns the latest time that a timestamp can represent, ignoring its
 * truncation.
 */
static uint64_t
latest_ns(const struct winwait_x *x, uint32_t ms)
{
	return x->stamp_ns + (uint64_t)((int64_t)(int32_t)(ms - x->stamp_ms) *
	    MS);
}

/*
 * Compares the server's clock with ours, by changing a property of a window
 * several times.  Pending events are lost, so call this before requesting
 * events.  Returns 0, or -1 if the connection is lost.
 */
static int
compare_clocks(struct winwait_x *x)
{
	const uint32_t events = XCB_EVENT_MASK_PROPERTY_CHANGE;
	xcb_window_t window = xcb_generate_id(x->c);
	int64_t ms = 0;

	xcb_create_window(x->c, 0, window, x->root, 0, 0, 1, 1, 0,
	    XCB_WINDOW_CLASS_INPUT_ONLY, XCB_COPY_FROM_PARENT,
	    XCB_CW_EVENT_MASK, &events);
	for (int i = 0; i < STAMPS && ms >= 0; i++) {
		xcb_generic_event_t *e;
		uint64_t now;

		xcb_change_property(x->c, XCB_PROP_MODE_REPLACE, window,
		    XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 8, 0, NULL);
		xcb_flush(x->c);
		ms = -1;
		while (ms < 0 && (e = xcb_wait_for_event(x->c)) != NULL) {
			if ((e->response_type & 0x7f) == XCB_PROPERTY_NOTIFY)
				ms = ((const xcb_property_notify_event_t *)
				    e)->time;
			free(e);
		}
		now = sys_now_ns();
		if (ms >= 0 && (i == 0 || now < latest_ns(x, (uint32_t)ms))) {
			x->stamp_ms = (uint32_t)ms;
			x->stamp_ns = now;
		}
	}
	xcb_destroy_window(x->c, window);
	return ms < 0 ? -1 : 0;
}

/*
 * Returns whether a window manager runs that keeps a list.  Its check window
 * disappears with it, whereas the properties of the root remain.  (Weston's
 * Xwayland has such a window, but keeps no list.)
 */
static bool
is_managed(const struct winwait_x *x)
{
	xcb_window_t check = first_value(x, x->root, x->atoms[WM_CHECK]);
	xcb_get_property_reply_t *r;
	const uint32_t *all;
	bool lists;
	size_t n;

	if (check == 0 || first_value(x, check, x->atoms[WM_CHECK]) != check)
		return false;
	r = property(x, x->root, x->atoms[CLIENT_LIST]);
	lists = r != NULL && r->type != XCB_ATOM_NONE;
	free(r);
	if (lists)
		return true;
	r = property(x, x->root, x->atoms[SUPPORTED]);
	all = values(r, &n);
	while (!lists && n > 0)
		lists = all[--n] == x->atoms[CLIENT_LIST];
	free(r);
	return lists;
}

/* The processes that windows belong to */

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

/*
 * Returns whether a process descends from us.  An ancestor may end meanwhile:
 * then its children have another parent.
 */
static enum kin
kin_of(pid_t pid)
{
	const pid_t self = getpid();
	char text[STATUS_B];

	for (int try = 0; try < KIN_TRIES; try++) {
		pid_t at = pid;

		for (int i = 0; at > 0 && at != self && i < DEPTH_MAX; i++) {
			const char *s = read_status(at, text) ?
			    status_line(text, "\nPPid:") : NULL;

			at = s == NULL ? -1 : (pid_t)strtol(s, NULL, 10);
		}
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
knows_pids(xcb_connection_t *c)
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
knows_pids(xcb_connection_t *c)
{
	(void)c;
	return false;
}
#endif

/*
 * Determines whose window this is.  named is the PID that its program has set
 * as a property, or 0, and machine that program's host name; they count only if
 * the server does not know the PID.  *pid becomes the PID, or 0.
 */
static enum kin
owner_of(const struct winwait_x *x, xcb_window_t id, pid_t named,
    const char *machine, pid_t *pid)
{
	char here[256];
	enum kin kin;
	const struct dirent *e;
	DIR *dir;

	*pid = x->knows_pids ? pid_of_client(x->c, id) : 0;
	if (*pid > 0)
		return kin_of(*pid);
	if (named <= 0 || gethostname(here, sizeof(here)) != 0 ||
	    strncmp(machine, here, sizeof(here)) != 0)
		return KIN_UNKNOWN;
	*pid = named;
	/* ours if one of our processes has this PID in one of its namespaces */
	kin = kin_of(named);
	dir = kin == KIN_OURS ? NULL : opendir("/proc");
	while (dir != NULL && kin != KIN_OURS && (e = readdir(dir)) != NULL) {
		pid_t p = (pid_t)strtol(e->d_name, NULL, 10);

		if (p > 0 && is_called(p, named) && kin_of(p) == KIN_OURS)
			kin = KIN_OURS;
	}
	if (dir != NULL)
		closedir(dir);
	return kin;
}

int
winwait_x_open(struct winwait *w)
{
	const uint32_t events = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY |
	    XCB_EVENT_MASK_PROPERTY_CHANGE;
	struct winwait_x *x = sys_calloc(1, sizeof(*x));
	const char *display = getenv("DISPLAY");
	xcb_intern_atom_cookie_t asked[ATOMS];
	int screen = 0;
	xcb_screen_iterator_t s;
	xcb_generic_error_t *error;

	w->x = x;
	/* all there may be: later, there is no way to say that memory is short */
	if (x != NULL)
		x->windows = sys_calloc(WINDOWS_MAX, sizeof(*x->windows));
	if (x == NULL || x->windows == NULL) {
		msg_error(&w->msg, "out of memory");
		return -1;
	}
	x->c = xcb_connect(NULL, &screen);
	if (xcb_connection_has_error(x->c)) {
		msg_error(&w->msg, "no X server at DISPLAY '%s'%s",
		    display == NULL ? "" : display,
		    getenv("WAYLAND_DISPLAY") == NULL ? "" :
		    "; a window on Wayland cannot be seen");
		return -1;
	}
	s = xcb_setup_roots_iterator(xcb_get_setup(x->c));
	for (; screen > 0 && s.rem > 1; screen--)
		xcb_screen_next(&s);
	x->root = s.data->root;
	for (int i = 0; i < ATOMS; i++)
		asked[i] = xcb_intern_atom(x->c, 0,
		    (uint16_t)strlen(atom_table[i].name),
		    atom_table[i].name);
	for (int i = 0; i < ATOMS; i++) {
		xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(x->c,
		    asked[i], NULL);

		if (r == NULL)
			goto deaf;
		x->atoms[i] = r->atom;
		free(r);
	}
	if (compare_clocks(x) != 0)
		goto deaf;
	error = xcb_request_check(x->c, xcb_change_window_attributes_checked(
	    x->c, x->root, XCB_CW_EVENT_MASK, &events));
	if (error != NULL) {
		free(error);
		goto deaf;
	}
	x->knows_pids = knows_pids(x->c);
	x->managed = is_managed(x);
	return 0;
deaf:
	msg_error(&w->msg, "the X server sends no events for its root window");
	return -1;
}

void
winwait_x_close(struct winwait_x *x)
{
	if (x == NULL)
		return;
	if (x->c != NULL)
		xcb_disconnect(x->c);
	sys_free(x->windows);
	sys_free(x);
}

int
winwait_x_fd(const struct winwait_x *x)
{
	return xcb_get_file_descriptor(x->c);
}

/* Windows */

static struct window *
find_window(struct winwait_x *x, xcb_window_t id)
{
	for (size_t i = x->count; i > 0; i--)
		if (x->windows[i - 1].id == id)
			return &x->windows[i - 1];
	return NULL;
}

static void
add_window(struct winwait_x *x, xcb_window_t id, uint64_t now)
{
	const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY |
	    XCB_EVENT_MASK_PROPERTY_CHANGE;

	if (x->count == WINDOWS_MAX)
		return;
	x->windows[x->count++] = (struct window){ .id = id,
		.created_ns = now };
	/* if the window is already gone, the error is ignored */
	xcb_change_window_attributes(x->c, id, XCB_CW_EVENT_MASK, &events);
}

/*
 * Returns the kind of a window.  Its types are in order of preference, and may
 * begin with types that only one window manager knows.
 */
static enum kind
kind_of(const struct winwait_x *x, xcb_window_t id)
{
	xcb_get_property_reply_t *r = property(x, id, x->atoms[WM_TYPE]);
	int known = ATOMS;
	size_t n;
	const uint32_t *all = values(r, &n);

	for (size_t i = 0; i < n && known == ATOMS; i++) {
		known = TYPE_NORMAL;
		while (known < ATOMS && x->atoms[known] != all[i])
			known++;
	}
	free(r);
	return known == ATOMS ? KIND_MAIN : atom_table[known].kind;
}

static bool
is_match(const regex_t *regex, const char *text)
{
	return regexec(regex, text, 0, NULL, 0) == 0;
}

/* Classifies a window; RESULT_NONE means to ignore it. */
static enum winwait_result
judge(struct winwait *w, struct window *v)
{
	struct winwait_x *x = w->x;
	struct winwait_seen *s = &w->seen;
	bool wanted = w->o.match != NULL || w->o.title != NULL;
	char machine[TEXT_B];
	enum kind kind;
	pid_t named, pid;

	/* a window that is already gone has no class: not an error message */
	if (!text_of(x, v->id, XCB_ATOM_WM_CLASS, s->class))
		return RESULT_NONE;
	/* a process that does not descend from the command is noted */
	if (v->kin == KIN_UNKNOWN) {
		named = (pid_t)first_value(x, v->id, x->atoms[WM_PID]);
		text_of(x, v->id, XCB_ATOM_WM_CLIENT_MACHINE, machine);
		v->kin = owner_of(x, v->id, named, machine, &pid);
		if (v->kin == KIN_OTHER) {
			s->other_pid = pid;
			text_of(x, v->id, XCB_ATOM_WM_CLASS, s->other_class);
		}
	}
	if (v->kin == KIN_OTHER)
		return RESULT_NONE;
	text_of(x, v->id, x->atoms[WM_NAME], s->title);
	if (s->title[0] == '\0')
		text_of(x, v->id, XCB_ATOM_WM_NAME, s->title);
	kind = kind_of(x, v->id);
	if (kind == KIND_SPLASH)
		return RESULT_NONE;
	if (wanted && (w->o.match == NULL || is_match(&w->match, s->class)) &&
	    (w->o.title == NULL || is_match(&w->title, s->title)))
		return RESULT_SEEN;
	if (kind == KIND_OTHER)
		return RESULT_NONE;
	if (kind == KIND_DIALOG || s->class[0] == '\0' ||
	    is_match(&w->error, s->title))
		return RESULT_ERROR_WINDOW;
	return wanted ? RESULT_NONE : RESULT_SEEN;
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Handles a window of the command that appeared at time `now`, or at the
 * server's earlier timestamp if events were read late.
 */
static void
appear(struct winwait *w, struct window *v, uint64_t now)
{
	enum winwait_result result = judge(w, v);

	if (result == RESULT_NONE) {
		w->seen.class[0] = w->seen.title[0] = '\0';
		return;
	}
	w->seen.result = result;
	w->seen.created_ns = earlier(v->created_ns, now);
	w->seen.mapped_ns = earlier(v->mapped_ns, now);
	w->seen.seen_ns = now;
}

static void
note_mapped(struct winwait *w, const xcb_map_notify_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	struct window *v = find_window(x, e->window);
	bool is_frame = false;

	for (size_t i = 0; i < x->count; i++) {
		if ((x->windows[i].id == e->window ||
		    x->windows[i].frame == e->window) &&
		    x->windows[i].mapped_ns == 0)
			x->windows[i].mapped_ns = now;
		is_frame = is_frame || x->windows[i].frame == e->window;
	}
	if (v == NULL || x->managed || e->override_redirect || is_frame)
		return;
	v->shown = true;
	appear(w, v, now);
}

static void
note_property(struct winwait *w, const xcb_property_notify_event_t *e,
    uint64_t now)
{
	struct winwait_x *x = w->x;
	/* at most a millisecond too late, plus the error of the comparison */
	uint64_t then = earlier(now, latest_ns(x, e->time) + MS);
	xcb_get_property_reply_t *r;
	const uint32_t *ids;
	struct window *v;
	size_t n;

	if (e->window != x->root) {
		v = find_window(x, e->window);
		if (v != NULL && v->shown && (e->atom == x->atoms[WM_TYPE] ||
		    e->atom == XCB_ATOM_WM_CLASS || (w->o.title != NULL &&
		    (e->atom == x->atoms[WM_NAME] ||
		    e->atom == XCB_ATOM_WM_NAME))))
			appear(w, v, then);
		return;
	}
	if (!x->managed || e->atom != x->atoms[CLIENT_LIST])
		return;
	r = property(x, x->root, x->atoms[CLIENT_LIST]);
	ids = values(r, &n);
	for (size_t i = 0; i < x->count; i++)
		x->windows[i].shown = false;
	for (size_t i = 0; i < n && w->seen.result == RESULT_NONE; i++) {
		v = find_window(x, ids[i]);
		if (v == NULL)
			continue;
		v->shown = true;
		appear(w, v, then);
	}
	free(r);
}

/*
 * A manager may have framed and mapped a window before its events were
 * selected.  If it is not mapped by now, its event will arrive.
 */
static void
note_parent(struct winwait *w, const xcb_reparent_notify_event_t *e,
    uint64_t now)
{
	struct winwait_x *x = w->x;
	struct window *v = find_window(x, e->window);
	xcb_get_window_attributes_reply_t *r;
	bool mapped;

	if (v == NULL || e->parent == x->root)
		return;
	v->frame = e->parent;
	if (x->managed || v->shown)
		return;
	r = xcb_get_window_attributes_reply(x->c,
	    xcb_get_window_attributes(x->c, v->id), NULL);
	mapped = r != NULL && r->map_state != XCB_MAP_STATE_UNMAPPED &&
	    !r->override_redirect;
	free(r);
	if (!mapped)
		return;
	v->shown = true;
	if (v->mapped_ns == 0)
		v->mapped_ns = now;
	appear(w, v, now);
}

void
winwait_x_events(struct winwait *w, uint64_t now)
{
	struct winwait_x *x = w->x;
	xcb_generic_event_t *e;
	struct window *v;

	while (w->seen.result == RESULT_NONE) {
		/*
		 * sending a request may also read events into the queue; these
		 * do not make the socket readable
		 */
		e = xcb_poll_for_event(x->c);
		if (e == NULL) {
			xcb_flush(x->c);
			e = xcb_poll_for_queued_event(x->c);
		}
		if (e == NULL)
			break;
		switch (e->response_type & 0x7f) {
		case XCB_CREATE_NOTIFY:
			add_window(x, ((const xcb_create_notify_event_t *)e)->
			    window, now);
			break;
		case XCB_DESTROY_NOTIFY:
			v = find_window(x,
			    ((const xcb_destroy_notify_event_t *)e)->window);
			if (v != NULL)
				*v = x->windows[--x->count];
			break;
		case XCB_MAP_NOTIFY:
			note_mapped(w, (const void *)e, now);
			break;
		case XCB_UNMAP_NOTIFY:
			v = find_window(x,
			    ((const xcb_unmap_notify_event_t *)e)->window);
			if (v != NULL && !x->managed)
				v->shown = false;
			break;
		case XCB_REPARENT_NOTIFY:
			note_parent(w, (const void *)e, now);
			break;
		case XCB_PROPERTY_NOTIFY:
			note_property(w, (const void *)e, now);
			break;
		}
		free(e);
		/* More events may have arrived while this one was examined. */
		now = sys_now_ns();
	}
	if (w->seen.result == RESULT_NONE && xcb_connection_has_error(x->c))
		w->seen.result = RESULT_LOST;
}
