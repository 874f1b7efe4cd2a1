/*
 * layerpack.c - make, list and extract layers that can be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/fdio.h"
#include "base/output.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the mode creates a layer, a repository or a layout. */
static bool
makes(const struct layerpack *p)
{
	return p->o.mode == LAYERPACK_MAKE || p->o.mode == LAYERPACK_IMAGE;
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
layerpack_confine(struct layerpack *p, struct sandbox_dirs *d)
{
	const char *stats = p->o.make.stats, *why;
	struct digest_algo *sha256 = NULL;
	bool confined = false;
	int rc = 0;

	/* OpenSSL reads its configuration when it is first used */
	digest_algo_open(&sha256, "sha256");
	digest_algo_close(sha256);
	d->spooling = -1;
	if (makes(p) && (p->o.make.kind == LAYER_ZTOC ||
	    p->o.make.lists.count > 0))
		d->spooling = sys_openat(AT_FDCWD, layerpack_tmpdir(p),
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (stats == NULL || strcmp(stats, "-") == 0) {
		rc = sandbox_enter_dirs(d, &confined);
		why = rc != 0 ? strerror(-rc) : confined ? NULL :
		    "the kernel has no Landlock";
	} else {
		why = "statistics will be written to a file";
	}
	if (why != NULL && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: not confined: %s", p->o.source, why);
	if (d->spooling >= 0)
		sys_close(d->spooling);
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
#ifdef COLDPRESS_PULL
	if (p.o.mode == LAYERPACK_PULL)
		layerpack_pull(&p);
	else
#endif
	if (!makes(&p))
		layerpack_read(&p);
#ifdef COLDPRESS_SQLITE
	else if (p.o.make.kind == LAYER_CAS)
		layerpack_cas(&p);
#endif
#ifdef COLDPRESS_OCI
	else if (p.o.mode == LAYERPACK_IMAGE)
		layerpack_image(&p);
#endif
	else
		layerpack_make(&p);
	sys_free(p.o.make.lists.items);
	status = msg_finish(&p.msg);
	/* an extraction that skips anything is not complete; a layer is */
	return status == MSG_WARNING && makes(&p) ? MSG_OK : status;
}
