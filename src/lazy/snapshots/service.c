/*
 * service.c - the service containerd.services.snapshots.v1.Snapshots
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: containerd's api/services/snapshots/v1/snapshots.proto and
 * api/types/mount.proto; google/protobuf/timestamp.proto and field_mask.proto.
 * A request is any of their messages: which field means what is in a table for
 * each method.
 */
#include "lazy/snapshots/snapshots.h"

#include "grpc.h"
#include "wire.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SERVICE "/containerd.services.snapshots.v1.Snapshots/"

enum {
	THREADS = 32,
	INFOS = 100,			/* in one message */
	ITEMS_MAX = 4096		/* of a list in a request */
};

/* What a field of a request says */
enum meaning {
	NOTHING, KEY, PARENT, NAME, LABELS, INFO, MASK, FILTERS, MEANINGS
};

enum { FIELDS = 7 };

/* The texts of a list */
struct texts {
	const char **of;
	size_t count, cap;
};

struct request {
	struct arena arena;
	const char *texts[MEANINGS];	/* of KEY, PARENT, NAME; "" if absent */
	struct snapshots_labels labels;
	struct texts list;		/* of MASK, or FILTERS */
};

/* Reading */

static int
add_text(struct texts *t, const char *text)
{
	void *of = (void *)t->of;
	int rc = t->count == ITEMS_MAX ? -E2BIG : array_grow(&of, t->count,
	    &t->cap, sizeof(*t->of));

	t->of = of;
	if (rc == 0)
		t->of[t->count++] = text;
	return rc;
}

/* Reads an entry of map<string, string>.  The last one of a name counts. */
static int
read_label(struct request *q, struct wire w)
{
	struct snapshots_label label = { "", "" };
	void *of = q->labels.of;
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) == 1) {
		rc = f.number == 1 ? wire_text(&f, &q->arena, &label.name) :
		    f.number == 2 ? wire_text(&f, &q->arena, &label.value) : 0;
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = q->labels.count == ITEMS_MAX ? -E2BIG : array_grow(&of,
		    q->labels.count, &q->labels.cap, sizeof(label));
	q->labels.of = of;
	if (rc == 0)
		q->labels.of[q->labels.count++] = label;
	return rc;
}

static int read_request(struct request *q, struct wire w,
    const enum meaning meaning[FIELDS]);

static int
read_field(struct request *q, const struct wire_field *f,
    enum meaning meaning)
{
	static const enum meaning info[FIELDS] = { [1] = NAME, [6] = LABELS };
	static const enum meaning mask[FIELDS] = { [1] = FILTERS };
	const char *text;
	int rc;

	switch (meaning) {
	case KEY: case PARENT: case NAME:
		return wire_text(f, &q->arena, &q->texts[meaning]);
	case FILTERS:
		rc = wire_text(f, &q->arena, &text);
		return rc == 0 ? add_text(&q->list, text) : rc;
	case LABELS:
		return f->type != WIRE_BYTES ? -EBADMSG :
		    read_label(q, f->bytes);
	case INFO: case MASK:
		return f->type != WIRE_BYTES ? -EBADMSG :
		    read_request(q, f->bytes, meaning == INFO ? info : mask);
	default:
		return 0;
	}
}

static int
read_request(struct request *q, struct wire w,
    const enum meaning meaning[FIELDS])
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) == 1) {
		rc = f.number < FIELDS ? read_field(q, &f, meaning[f.number]) :
		    0;
		if (rc != 0)
			break;
	}
	return rc;
}

/* Writing */

static void
put_time(struct strbuf *b, uint32_t field, int64_t ns)
{
	enum { SECOND = 1000000000 };
	size_t begun = wire_begin(b, field);

	wire_put_number(b, 1, (uint64_t)(ns / SECOND));
	wire_put_number(b, 2, (uint64_t)(ns % SECOND));
	wire_end(b, begun);
}

static void
put_info(struct strbuf *b, uint32_t field, const struct snapshots_info *i)
{
	size_t begun = wire_begin(b, field), entry;

	wire_put_text(b, 1, i->name, false);
	wire_put_text(b, 2, i->parent, false);
	wire_put_number(b, 3, (uint64_t)i->kind);
	put_time(b, 4, i->created_ns);
	put_time(b, 5, i->updated_ns);
	for (size_t k = 0; k < i->labels.count; k++) {
		entry = wire_begin(b, 6);
		wire_put_text(b, 1, i->labels.of[k].name, false);
		wire_put_text(b, 2, i->labels.of[k].value, false);
		wire_end(b, entry);
	}
	wire_end(b, begun);
}

static void
put_mount(struct strbuf *b, uint32_t field, const struct snapshots_mount *m)
{
	size_t begun = wire_begin(b, field);

	wire_put_text(b, 1, m->type, false);
	wire_put_text(b, 2, m->source, false);
	for (size_t i = 0; i < m->option_count; i++)
		wire_put_text(b, 4, m->options[i], true);
	wire_end(b, begun);
}

/* Methods: each appends the fields of its reply */

static int
create(struct snapshots *s, struct request *q, enum snapshots_kind kind,
    struct strbuf *b, char why[SNAPSHOTS_WHY])
{
	struct snapshots_mount m;
	int rc = snapshots_create(s, kind, q->texts[KEY], q->texts[PARENT],
	    &q->labels, &m, &q->arena, why);

	if (rc == 0)
		put_mount(b, 1, &m);
	return rc;
}

static int
prepare(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	return create(s, q, SNAPSHOTS_ACTIVE, b, why);
}

static int
view(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	return create(s, q, SNAPSHOTS_VIEW, b, why);
}

static int
mounts(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	struct snapshots_mount m;
	int rc = snapshots_mount_of(s, q->texts[KEY], &m, &q->arena, why);

	if (rc == 0)
		put_mount(b, 1, &m);
	return rc;
}

static int
commit(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	(void)b;
	return snapshots_commit(s, q->texts[KEY], q->texts[NAME], &q->labels,
	    why);
}

static int
remove_snapshot(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	(void)b;
	return snapshots_remove(s, q->texts[KEY], why);
}

static int
stat_snapshot(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	struct snapshots_info i;
	int rc = snapshots_stat(s, q->texts[KEY], &i, &q->arena, why);

	if (rc == 0)
		put_info(b, 1, &i);
	return rc;
}

static int
update(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	struct snapshots_info i = { .name = q->texts[NAME],
		.labels = q->labels };
	int rc = snapshots_update(s, &i, q->list.of, q->list.count, &q->arena,
	    why);

	if (rc == 0)
		put_info(b, 1, &i);
	return rc;
}

/* A listing, as several messages */
struct listing {
	struct strbuf *b;
	size_t begun;
	unsigned count;			/* in this message */
};

static int
list_one(void *arg, const struct snapshots_info *i)
{
	struct listing *l = arg;

	if (l->count == INFOS) {
		grpc_end(l->b, l->begun);
		l->begun = grpc_begin(l->b);
		l->count = 0;
	}
	put_info(l->b, 1, i);
	l->count++;
	return l->b->failed ? -ENOMEM : 0;
}

static int
list(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	struct listing l = { .b = b, .begun = grpc_begin(b) };
	int rc = snapshots_list(s, q->list.of, q->list.count, list_one, &l,
	    why);

	grpc_end(b, l.begun);
	return rc;
}

static int
usage(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	struct snapshots_usage u;
	int rc = snapshots_usage(s, q->texts[KEY], &u, why);

	if (rc == 0) {
		wire_put_number(b, 1, (uint64_t)u.bytes);
		wire_put_number(b, 2, (uint64_t)u.inodes);
	}
	return rc;
}

static int
cleanup(struct snapshots *s, struct request *q, struct strbuf *b,
    char why[SNAPSHOTS_WHY])
{
	(void)q;
	(void)b;
	return snapshots_cleanup(s, why);
}

/* Field 1 of every request, the name of the snapshotter, is not needed. */
static const struct method {
	const char *name;
	int (*answer)(struct snapshots *s, struct request *q,
	    struct strbuf *b, char why[SNAPSHOTS_WHY]);
	enum meaning fields[FIELDS];
	bool streams;			/* it frames its messages itself */
} methods[] = {
	{ .name = "Prepare", .answer = prepare,
	    .fields = { [2] = KEY, [3] = PARENT, [4] = LABELS } },
	{ .name = "View", .answer = view,
	    .fields = { [2] = KEY, [3] = PARENT, [4] = LABELS } },
	{ .name = "Mounts", .answer = mounts, .fields = { [2] = KEY } },
	{ .name = "Commit", .answer = commit,
	    .fields = { [2] = NAME, [3] = KEY, [4] = LABELS } },
	{ .name = "Remove", .answer = remove_snapshot,
	    .fields = { [2] = KEY } },
	{ .name = "Stat", .answer = stat_snapshot, .fields = { [2] = KEY } },
	{ .name = "Update", .answer = update,
	    .fields = { [2] = INFO, [3] = MASK } },
	{ .name = "List", .answer = list, .fields = { [2] = FILTERS },
	    .streams = true },
	{ .name = "Usage", .answer = usage, .fields = { [2] = KEY } },
	{ .name = "Cleanup", .answer = cleanup },
};

static const struct method *
find_method(const char *name)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

static enum grpc_status
status_of(int rc)
{
	switch (rc) {
	case 0: return GRPC_OK;
	case -ENOENT: return GRPC_NOT_FOUND;
	case -EEXIST: return GRPC_ALREADY_EXISTS;
	case -EBUSY: return GRPC_FAILED_PRECONDITION;
	case -EINVAL: case -E2BIG: return GRPC_INVALID_ARGUMENT;
	case -EAGAIN: return GRPC_UNAVAILABLE;
	case -ENOMEM: case -ENOSPC: return GRPC_RESOURCE_EXHAUSTED;
	default: return GRPC_INTERNAL;
	}
}

int
snapshots_answer(struct snapshots *s, const char *name, const void *request,
    size_t length, struct strbuf *messages, char why[SNAPSHOTS_WHY])
{
	const struct method *m = find_method(name);
	struct request q = { .texts = { [KEY] = "", [PARENT] = "",
		[NAME] = "" } };
	size_t begun;
	int rc;

	*why = '\0';
	if (m == NULL) {
		snprintf(why, SNAPSHOTS_WHY, "%.100s: there is no such method",
		    name);
		return GRPC_UNIMPLEMENTED;
	}
	rc = read_request(&q, wire_message(request, length), m->fields);
	if (rc == -EBADMSG) {
		snprintf(why, SNAPSHOTS_WHY, "%s: the request is damaged",
		    name);
		rc = -EINVAL;
	} else if (rc == 0 && m->streams) {
		rc = m->answer(s, &q, messages, why);
	} else if (rc == 0) {
		begun = grpc_begin(messages);
		rc = m->answer(s, &q, messages, why);
		grpc_end(messages, begun);
	}
	if (rc == 0 && messages->failed)
		rc = -ENOMEM;
	if (rc != 0 && *why == '\0')
		snprintf(why, SNAPSHOTS_WHY, "%s", strerror(-rc));
	sys_free(q.labels.of);
	sys_free((void *)q.list.of);
	arena_free(&q.arena);
	return (int)status_of(rc);
}

/* Serving */

static void
handle(void *arg, struct grpc_call *call)
{
	const size_t prefix = sizeof(SERVICE) - 1;

	_Static_assert((int)GRPC_MESSAGE >= (int)SNAPSHOTS_WHY, "they fit");
	if (strncmp(call->path, SERVICE, prefix) != 0) {
		call->status = GRPC_UNIMPLEMENTED;
		snprintf(call->message, sizeof(call->message),
		    "%.100s: there is no such service", call->path);
		return;
	}
	call->status = (enum grpc_status)snapshots_answer(arg,
	    call->path + prefix, call->request, call->length, &call->reply,
	    call->message);
}

int
snapshots_serve(const struct snapshots_service *s)
{
	const struct grpc_server g = { .listener = s->listener,
		.stop = s->stop, .threads = THREADS,
		.timeout_s = s->timeout_s, .handle = handle,
		.arg = s->snapshots };

	return grpc_serve(&g);
}
