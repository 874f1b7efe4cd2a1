/*
 * layerpack.c - make, list and extract layers that can be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/fdio.h"
#include "base/output.h"
#include "lazy/cvmfs/cas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Confines the process before it reads untrusted data.  Extraction does so
 * later, to its directory.
 */
static void
confine_reading(struct layerpack *p, const struct layerpack_source *s)
{
	const struct sandbox_dirs d = { .reading = blobs_file_dir(s->blobs),
		.naming = -1, .making = -1, .renaming = -1, .spooling = -1 };

	if (p->o.mode != LAYERPACK_EXTRACT)
		layerpack_confine(p, &d);
}

/* Determines the key with which the repository must be signed, if any. */
static int
find_key(struct layerpack *p, struct layer_expect *e,
    uint8_t digest[LAYER_DIGEST])
{
#ifdef COLDPRESS_SQLITE
	char why[LAYER_WHY] = "";
	int rc;

	if (p->o.key == NULL)
		return 0;
	rc = cas_key_find(p->o.key, digest, why);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.key, why);
	e->key_digest = digest;
	return rc;
#else
	(void)p;
	(void)e;
	(void)digest;
	return 0;
#endif
}

int
layerpack_open(struct layerpack *p, struct layerpack_source *s)
{
	struct layer_expect e = p->o.expect;
	uint8_t key[LAYER_DIGEST];
	char why[LAYER_WHY] = "";
	int rc = find_key(p, &e, key);

	e.kind = p->o.kind;
	*s = (struct layerpack_source){ .blobs = NULL };
	if (rc != 0)
		return rc;
	rc = blobs_file_open(&s->blobs, p->o.source, p->o.side);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.source, rc == -EINVAL ?
		    "not a regular file or directory" : strerror(-rc));
		return rc;
	}
	confine_reading(p, s);
	rc = layer_open(&s->l, blobs_file_blobs(s->blobs), &e, why);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.source, why);
	return rc;
}

const char *
layerpack_tmpdir(const struct layerpack *p)
{
	const char *dir = getenv("TMPDIR");

	if (p->o.make.tmpdir != NULL)
		return p->o.make.tmpdir;
	return dir == NULL || *dir == '\0' ? "/tmp" : dir;
}

void
layerpack_close(struct layerpack_source *s)
{
	layer_close(s->l);
	blobs_file_close(s->blobs);
}

/* Returns whether the mode creates a layer, a repository or a layout. */
static bool
makes(const struct layerpack *p)
{
	return p->o.mode == LAYERPACK_MAKE || p->o.mode == LAYERPACK_IMAGE;
}

/*
 * Runs the selected mode, which reports its own errors; these set the status.
 */
static void
run_mode(struct layerpack *p)
{
#ifdef COLDPRESS_SQLITE
	if (makes(p) && p->o.make.kind == LAYER_CAS) {
		layerpack_cas(p);
		return;
	}
#endif
	switch (p->o.mode) {
	case LAYERPACK_LIST: layerpack_list(p); break;
	case LAYERPACK_EXTRACT: layerpack_extract(p); break;
	case LAYERPACK_VERIFY: layerpack_verify(p); break;
	case LAYERPACK_MAKE: layerpack_make(p); break;
#ifdef COLDPRESS_OCI
	case LAYERPACK_IMAGE: layerpack_image(p); break;
#else
	case LAYERPACK_IMAGE: break;
#endif
	case LAYERPACK_NONE: break;
	}
}

int
main(int argc, char **argv)
{
	struct layerpack p = { .o = { .make = { .level = -1 } } };
	int status;

	fdio_hold_standard();
	output_on_signals();
	msg_init(&p.msg, argv[0]);
	status = layerpack_parse(&p, argc, argv);
	if (status >= 0)
		return status;
	run_mode(&p);
	status = msg_finish(&p.msg);
	/* an extraction that skips anything is not complete; a layer is */
	return status == MSG_WARNING && makes(&p) ? MSG_OK : status;
}
