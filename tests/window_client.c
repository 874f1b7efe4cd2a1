/*
 * window_client.c - a program with a window, for tests of winwait
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * window_client [-iMmr] [-c class] [-t title] [-k type,...] [-l ms] [-p pid]
 * [-w ms] [-f file]
 *
 * Waits -w milliseconds, makes a window of that class (default: test; "": none)
 * and maps it; -i first creates one that is never mapped.  The types are those
 * of EWMH in lower case, or kde; -l makes the window normal, and its title
 * "ready", that many milliseconds later.  -p sets _NET_WM_PID.  With -m it is
 * instead a window manager that frames windows, but keeps no list; with -M, one
 * that says that it keeps one, but lists nothing.  It writes the times of its
 * MapNotify event and of its appearance in _NET_CLIENT_LIST to file, in
 * ns on CLOCK_MONOTONIC or, with -r, CLOCK_REALTIME; then it waits to be
 * killed.  To read these times promptly on a busy machine, it runs at real-time
 * priority if permitted.
 */
#include <ctype.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

struct client {
	const char *class, *title, *kind, *file;
	long wait_ms, later_ms, pid;
	clockid_t clock;
	int invisible, manager, lists;
	xcb_connection_t *c;
	xcb_window_t root, window;
	xcb_atom_t list;
	uint64_t mapped_ns, listed_ns;
};

static uint64_t
now_ns(const struct client *t)
{
	struct timespec ts;

	clock_gettime(t->clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static xcb_atom_t
atom(xcb_connection_t *c, const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(c,
	    xcb_intern_atom(c, 0, (uint16_t)strlen(name), name), NULL);
	xcb_atom_t a = r == NULL ? XCB_ATOM_NONE : r->atom;

	free(r);
	return a;
}

static xcb_window_t
create(struct client *t)
{
	const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
	xcb_window_t w = xcb_generate_id(t->c);

	xcb_create_window(t->c, XCB_COPY_FROM_PARENT, w, t->root, 0, 0, 80, 60,
	    0, XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT,
	    XCB_CW_EVENT_MASK, &events);
	return w;
}

static void
set_words(struct client *t, xcb_window_t w, const char *name, xcb_atom_t type,
    const uint32_t *words, uint32_t n)
{
	xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, w, atom(t->c, name),
	    type, 32, n, words);
}

static void
set_text(struct client *t, xcb_atom_t name, const char *text)
{
	xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, t->window, name,
	    XCB_ATOM_STRING, 8, (uint32_t)strlen(text), text);
}

/* Sets the types, which are separated by commas. */
static void
set_types(struct client *t, const char *kinds)
{
	xcb_atom_t types[16];
	uint32_t n = 0;

	while (*kinds != '\0' && n < 16) {
		char name[64] = "_NET_WM_WINDOW_TYPE_";
		size_t at = strlen(name), len = strcspn(kinds, ",");

		for (size_t i = 0; i < len && at < sizeof(name) - 1; i++)
			name[at++] = (char)toupper((unsigned char)kinds[i]);
		types[n++] = atom(t->c, len == 3 &&
		    strncmp(kinds, "kde", 3) == 0 ?
		    "_KDE_NET_WM_WINDOW_TYPE_OVERRIDE" : name);
		kinds += len + (kinds[len] == ',');
	}
	set_words(t, t->window, "_NET_WM_WINDOW_TYPE", XCB_ATOM_ATOM, types,
	    n);
}

static void
name_window(struct client *t)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s%c%s", t->class, '\0',
	    t->class) + 1;
	uint32_t pid = (uint32_t)t->pid;

	if (*t->class != '\0')
		xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, t->window,
		    XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, 8, (uint32_t)n, text);
	set_text(t, XCB_ATOM_WM_NAME, t->title);
	if (t->kind != NULL)
		set_types(t, t->kind);
	if (t->pid != 0) {
		gethostname(text, sizeof(text));
		set_text(t, XCB_ATOM_WM_CLIENT_MACHINE, text);
		set_words(t, t->window, "_NET_WM_PID", XCB_ATOM_CARDINAL, &pid,
		    1);
	}
}

/* Frames each window that is to be mapped. */
static void
manage_windows(struct client *t)
{
	xcb_generic_event_t *e;

	while ((e = xcb_wait_for_event(t->c)) != NULL) {
		xcb_window_t w = ((xcb_map_request_event_t *)e)->window, frame;

		if ((e->response_type & 0x7f) == XCB_MAP_REQUEST) {
			frame = create(t);
			xcb_reparent_window(t->c, w, frame, 0, 0);
			xcb_map_window(t->c, w);
			xcb_map_window(t->c, frame);
			xcb_flush(t->c);
		}
		free(e);
	}
}

/* Makes the window that a window manager is recognized by. */
static void
manage(struct client *t)
{
	static const char check[] = "_NET_SUPPORTING_WM_CHECK";
	const uint32_t events = XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT;
	xcb_atom_t name = atom(t->c, t->lists ? "_NET_CLIENT_LIST" :
	    "_NET_WM_NAME");

	xcb_change_window_attributes(t->c, t->root, XCB_CW_EVENT_MASK,
	    &events);
	t->window = create(t);
	set_words(t, t->window, check, XCB_ATOM_WINDOW, &t->window, 1);
	set_words(t, t->root, check, XCB_ATOM_WINDOW, &t->window, 1);
	set_words(t, t->root, "_NET_SUPPORTED", XCB_ATOM_ATOM, &name, 1);
}

static void
sleep_ms(long ms)
{
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

static int
listed(struct client *t)
{
	xcb_get_property_reply_t *r = xcb_get_property_reply(t->c,
	    xcb_get_property(t->c, 0, t->root, t->list,
	    XCB_GET_PROPERTY_TYPE_ANY, 0, 4096), NULL);
	const xcb_window_t *ids = r == NULL ? NULL : xcb_get_property_value(r);
	int found = 0;

	for (uint32_t i = 0; ids != NULL && i < r->value_len; i++)
		found |= ids[i] == t->window;
	free(r);
	return found;
}

static void
write_times(const struct client *t)
{
	char text[4096];
	FILE *f;

	if (t->file == NULL)
		return;
	snprintf(text, sizeof(text), "%s.new", t->file);
	f = fopen(text, "w");
	if (f == NULL)
		return;
	fprintf(f, "%" PRIu64 " %" PRIu64 "\n", t->mapped_ns, t->listed_ns);
	fclose(f);
	rename(text, t->file);
}

static void
wait_for_events(struct client *t)
{
	xcb_generic_event_t *e;

	while ((e = xcb_wait_for_event(t->c)) != NULL) {
		uint64_t now = now_ns(t);
		int type = e->response_type & 0x7f;

		if (type == XCB_MAP_NOTIFY && t->mapped_ns == 0) {
			t->mapped_ns = now;
			write_times(t);
		}
		if (type == XCB_PROPERTY_NOTIFY && t->listed_ns == 0 &&
		    ((xcb_property_notify_event_t *)e)->atom == t->list &&
		    listed(t)) {
			t->listed_ns = now;
			write_times(t);
		}
		free(e);
	}
}

static void
parse(struct client *t, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "c:f:ik:l:Mmp:rt:w:")) != -1)
		switch (ch) {
		case 'c': t->class = optarg; break;
		case 'f': t->file = optarg; break;
		case 'i': t->invisible = 1; break;
		case 'k': t->kind = optarg; break;
		case 'l': t->later_ms = atol(optarg); break;
		case 'M': t->lists = t->manager = 1; break;
		case 'm': t->manager = 1; break;
		case 'p': t->pid = atol(optarg); break;
		case 'r': t->clock = CLOCK_REALTIME; break;
		case 't': t->title = optarg; break;
		case 'w': t->wait_ms = atol(optarg); break;
		default: exit(2);
		}
}

int
main(int argc, char **argv)
{
	struct client t = { .class = "test", .title = "a test",
		.clock = CLOCK_MONOTONIC };
	const uint32_t events = XCB_EVENT_MASK_PROPERTY_CHANGE;
	const struct sched_param priority = { .sched_priority = 1 };

	parse(&t, argc, argv);
	if (t.file != NULL)
		sched_setscheduler(0, SCHED_RR, &priority);
	t.c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(t.c))
		return 3;
	t.root = xcb_setup_roots_iterator(xcb_get_setup(t.c)).data->root;
	t.list = atom(t.c, "_NET_CLIENT_LIST");
	xcb_change_window_attributes(t.c, t.root, XCB_CW_EVENT_MASK, &events);
	if (t.invisible)
		create(&t);
	xcb_flush(t.c);
	sleep_ms(t.wait_ms);
	if (t.manager) {
		manage(&t);
		free(xcb_get_input_focus_reply(t.c,
		    xcb_get_input_focus(t.c), NULL));
		write_times(&t);
		manage_windows(&t);
		return 0;
	}
	t.window = create(&t);
	name_window(&t);
	xcb_map_window(t.c, t.window);
	xcb_flush(t.c);
	if (t.later_ms > 0) {
		sleep_ms(t.later_ms);
		set_text(&t, XCB_ATOM_WM_NAME, "ready");
		set_types(&t, "normal");
		xcb_flush(t.c);
	}
	wait_for_events(&t);
	return 0;
}
