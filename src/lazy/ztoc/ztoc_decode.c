/*
 * ztoc_decode.c - decoding a span of a layer with a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/sys.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip_points.h"
#include "lazy/ztoc/ztoc.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

struct decoder {
	struct inflater *inflater;
	ZSTD_DCtx *unpacker;
	uint8_t window[ZTOC_WINDOW];
};

int
ztoc_decoder_open(struct layer_decoder *d)
{
	struct decoder *x = sys_calloc(1, sizeof(*x));
	int rc;

	d->state = x;
	if (x == NULL)
		return -ENOMEM;
	rc = inflater_open(&x->inflater);
	if (rc == 0)
		x->unpacker = ZSTD_createDCtx();
	return rc != 0 || x->unpacker != NULL ? rc : -ENOMEM;
}

void
ztoc_decoder_close(struct layer_decoder *d)
{
	struct decoder *x = d->state;

	if (x == NULL)
		return;
	inflater_close(x->inflater);
	ZSTD_freeDCtx(x->unpacker);
	sys_free(x);
}

static bool
has_digest(struct layer_decoder *d, const struct layer_range *r,
    const uint8_t expected[LAYER_DIGEST])
{
	uint8_t found[DIGEST_MAX];

	if (d->known)
		return true;
	return digest_once(d->digest, r->buf, r->length, found) == 0 &&
	    memcmp(found, expected, LAYER_DIGEST) == 0;
}

/*
 * Loads the window of a span, either from memory or by fetching and
 * decompressing it.
 */
static int
load_window(struct layer_decoder *d, const struct ztoc_span *s,
    const struct layer_range *r, struct gzip_point *p)
{
	const struct ztoc *z = d->l->state;
	struct decoder *x = d->state;
	size_t n;

	if (!z->packed || s->window_len == 0) {
		p->window = s->window;
		p->window_len = s->window_len;
		return 0;
	}
	if (!has_digest(d, r, s->window_digest))
		return -EBADMSG;
	n = ZSTD_decompressDCtx(x->unpacker, x->window, sizeof(x->window),
	    r->buf, r->length);
	p->window = x->window;
	p->window_len = n;
	return ZSTD_isError(n) ? -EBADMSG : 0;
}

int
ztoc_decode(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	struct decoder *x = d->state;
	const struct ztoc *z = d->l->state;
	const struct ztoc_span *s = &z->spans[unit];
	size_t size = d->l->index.units[unit].content;
	struct gzip_point p = { .bits = s->bits };

	*why = "a span does not match its digest in the ztoc";
	if (!has_digest(d, r, s->digest))
		return -EBADMSG;
	if (z->plain) {
		memcpy(content, r->buf, size);
		return 0;
	}
	*why = "a span's window does not match its digest in the ztoc";
	if (load_window(d, s, r + 1, &p) != 0)
		return -EBADMSG;
	*why = "a span does not decompress as stated in the ztoc";
	return gzip_resume(x->inflater, &p, r->buf, r->length, content, size);
}
