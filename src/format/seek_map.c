/*
 * seek_map.c - where decoding of a compressed file can begin
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats provide the units; this file decides how many of them to keep.
 */
#include "format/seek_formats.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>

static const struct seek_unit *
last_unit(const struct seek_map *m)
{
	return m->count == 0 ? NULL : &m->units[m->count - 1];
}

/*
 * A frame that contains units begins with a unit, as does the next frame, so
 * consecutive units belong to one frame or are whole frames.
 */
static void
put_unit(struct seek_map *m, const struct seek_unit *u)
{
	const struct seek_unit *last = last_unit(m);

	if (!seek_within(u)) {
		if (last == NULL || seek_within(last) ||
		    u->plain - last->plain >= m->spacing)
			m->units[m->count++] = *u;
		else
			m->held = *u;
		return;
	}
	if (last->frame != u->frame && m->held.at == u->frame &&
	    u->plain - m->held.plain >= m->spacing) {
		m->units[m->count++] = m->held;
		last = last_unit(m);
	}
	if (last->frame == u->frame && u->plain - last->plain >= m->spacing)
		m->units[m->count++] = *u;
}

/* Makes room, dropping about half of the units if there are too many. */
static int
thin_units(struct seek_map *m)
{
	void *units = m->units;
	int rc;

	/* put_unit() adds up to two units, and the end is one more */
	while (m->count + 3 > SEEK_UNITS_MAX && m->spacing < INT64_MAX) {
		size_t n = m->count;

		m->spacing = m->spacing == 0 ? 1 : 2 * m->spacing;
		m->count = 0;
		m->held.at = UINT64_MAX;
		for (size_t i = 0; i < n; i++) {
			struct seek_unit u = m->units[i];

			put_unit(m, &u);
		}
	}
	rc = array_reserve(&units, m->count + 3, &m->cap, sizeof(*m->units));
	m->units = units;
	return rc;
}

int
seek_add(struct seek_map *m, struct seek_unit u)
{
	const struct seek_unit *last = last_unit(m);
	int rc;

	if (u.plain > INT64_MAX || u.at > m->len || u.frame > u.at ||
	    (last == NULL && seek_within(&u)) ||
	    (last != NULL && (u.plain < last->plain || u.at < last->at)))
		return -EBADMSG;
	rc = thin_units(m);
	if (rc == 0)
		put_unit(m, &u);
	return rc;
}

int
seek_end_within(struct seek_map *m, struct seek_unit u)
{
	const struct seek_unit *last;
	int rc = thin_units(m);

	if (rc != 0)
		return rc;
	last = last_unit(m);
	if (last != NULL && seek_within(&u) && last->frame != u.frame &&
	    m->held.at == u.frame) {
		m->units[m->count++] = m->held;
		last = last_unit(m);
	}
	if (last == NULL || u.plain > INT64_MAX || u.plain < last->plain ||
	    u.at < last->at || u.at > m->len ||
	    (seek_within(&u) && last->frame != u.frame))
		return -EBADMSG;
	m->units[m->count++] = u;
	return 0;
}

int
seek_end(struct seek_map *m, uint64_t plain, uint64_t at)
{
	return seek_end_within(m, (struct seek_unit){ plain, at, at });
}

static int
fill_map(struct seek_map *m)
{
	int rc;

	m->look = look_open(m->fd, m->len);
	if (m->look == NULL)
		return -ENOMEM;
	m->held.at = UINT64_MAX;
	rc = m->seek->map(m);
	if (rc == 0 && m->count < 2)
		rc = -EBADMSG;
	return rc;
}

int
seek_map_open(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, uint64_t need)
{
	int rc;

	*m = (struct seek_map){ .fd = fd, .len = len, .need = need,
	    .codec = codec,
	    .seek = codec->seek, .spacing = SEEK_SPACING };
	if (m->seek == NULL)
		return 0;
	rc = fill_map(m);
	if (rc == 0)
		return 0;
	/* the decoder will report any error */
	seek_map_close(m);
	return rc == -ENODATA || rc == -EBADMSG || rc == -ENOTSUP ||
	    rc == -EFBIG ? 0 : rc;
}

int
seek_map_index(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, int index_fd)
{
	int rc;

	*m = (struct seek_map){ .fd = fd, .len = len, .codec = codec,
	    .seek = &index_seek, .index_fd = index_fd };
	rc = fill_map(m);
	if (rc != 0)
		seek_map_close(m);
	return rc;
}

void
seek_map_close(struct seek_map *m)
{
	if (m->own != NULL && m->seek->close != NULL)
		m->seek->close(m);
	if (m->look != NULL)
		m->read_B += m->look->read_B;
	look_close(m->look);
	sys_free(m->units);
	m->units = NULL;
	m->look = NULL;
	m->own = NULL;
	m->count = 0;
}
