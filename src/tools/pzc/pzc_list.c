/*
 * pzc_list.c - listing compressed files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_list.h"

#include "format/skippable.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Determines the format, and reads the header fields other than the size. */
static int
read_head(struct pzc *p, struct pzc_entry *e)
{
	const uint8_t *head = NULL;
	ssize_t n = skippable_shorten(&e->in);

	if (n == 0)
		n = input_peek(&e->in, INPUT_PEEK, &head);
	if (n < 0) {
		pzc_say(p, ON_ERROR, e->src->path, strerror((int)-n));
		return -1;
	}
	e->codec = pzc_codec_of(p, head, (size_t)n < CODEC_MAGIC_MAX ?
	    (size_t)n : CODEC_MAGIC_MAX);
	if (e->codec == NULL) {
		pzc_say(p, n == 0 ? ON_EMPTY : ON_NO_FORMAT, e->src->path,
		    NULL);
		return -1;
	}
	if (e->codec->stored != NULL)
		e->codec->stored(head, (size_t)n, &e->stored);
	e->mtime = e->stored.mtime != 0 ? e->stored.mtime :
	    S_ISREG(e->src->st.st_mode) ? e->src->st.st_mtime : 0;
	return 0;
}

/* For -lt: finds sizes by decompressing. */
static int
test(struct pzc *p, struct pzc_entry *e)
{
	struct convert c = { .codec = e->codec, .decompress = true,
	    .options = p->codec_options, .memory = p->memory };
	struct convert_result r;
	int rc = convert_run(&c, &e->in, -1, &r);

	if (rc != 0) {
		pzc_say_failure(p, e->src->path, rc, r.why);
		return rc;
	}
	rc = pzc_judge_rest(p, e->src->path, &r.notes);
	if (rc != 0)
		return rc;
	if (r.notes.unchecked)
		msg_warn(&p->msg, "%s: unknown check type, content not "
		    "verified", e->src->path);
	if (!e->l.has_value) {
		e->l.has_value = r.notes.has_check;
		e->l.value = r.notes.check;
	}
	e->has_packed = e->l.has_size = e->l.exact = true;
	e->packed = r.stats.in_bytes;
	e->l.size = r.stats.out_bytes;
	e->tested = true;
	return 0;
}

static int
look_into(struct pzc *p, struct pzc_entry *e)
{
	bool file = S_ISREG(e->src->st.st_mode) &&
	    (!e->src->is_stdin || lseek(e->src->fd, 0, SEEK_CUR) ==
	    (off_t)(e->in.bytes + e->in.peeked));
	int rc = 0;

	if (file && e->codec->list != NULL)
		rc = e->codec->list(e->src->fd,
		    (uint64_t)e->src->st.st_size, &e->l);
	if (p->verify || p->style->list_tests ||
	    (!file && p->style->list_reads_pipes)) {
		/* it may be possible to decompress a file but not to list it */
		if (rc != 0)
			memset(&e->l, 0, sizeof(e->l));
		return test(p, e);
	}
	if (rc != 0)
		pzc_say_failure(p, e->src->path, rc, NULL);
	e->has_packed = file;
	e->packed = (uint64_t)e->src->st.st_size;
	return rc;
}

/* Adds n to *sum.  A sum that overflows 64 bits is shown as a lower bound. */
static void
add_size(uint64_t *sum, bool *less, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum)) {
		*sum = UINT64_MAX;
		*less = true;
	}
}

static void
add_totals(struct pzc_totals *t, const struct pzc_entry *e)
{
	t->files++;
	t->around_B = e->stored.head_B + GZIP_TRAILER;
	t->packed_less |= !e->has_packed;
	t->size_less |= !e->l.has_size || !e->l.exact;
	if (e->has_packed)
		add_size(&t->packed, &t->packed_less, e->packed);
	if (e->l.has_size)
		add_size(&t->size, &t->size_less, e->l.size);
}

static void
show(struct pzc *p, const struct pzc_entry *e)
{
	int rc;

	if (p->json) {
		rc = pzc_list_json(p, e);
		if (rc != 0)
			msg_error(&p->msg, "standard output: %s",
			    strerror(-rc));
	} else {
		p->style->list(p, e);
	}
	add_totals(&p->totals, e);
}

void
pzc_list(struct pzc *p, const struct source *s)
{
	struct pzc_entry e = { .src = s };
	int rc = input_open(&e.in, s->fd);

	/* the time zone file must be read before confinement */
	tzset();
	pzc_confine(p, s, NULL);
	if (rc != 0)
		pzc_say(p, ON_ERROR, s->path, strerror(-rc));
	else if (read_head(p, &e) == 0 && look_into(p, &e) == 0)
		show(p, &e);
	input_close(&e.in);
}

void
pzc_list_end(struct pzc *p)
{
	if (!p->json && p->style->list_sum != NULL)
		p->style->list_sum(p);
}
