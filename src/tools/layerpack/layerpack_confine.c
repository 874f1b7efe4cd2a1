/*
 * layerpack_confine.c - dropping privileges before data is read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/sys.h"
#include "engine/digest/digest.h"

#include <fcntl.h>
#include <string.h>

/* Initializes OpenSSL, which reads its configuration when it is first used. */
static void
prepare_libraries(void)
{
	struct digest_algo *sha256 = NULL;

	digest_algo_open(&sha256, "sha256");
	digest_algo_close(sha256);
}

void
layerpack_confine(struct layerpack *p, const struct sandbox_dirs *d)
{
	const char *stats = p->o.make.stats, *why;
	bool confined = false;
	int rc = 0;

	prepare_libraries();
	if (stats == NULL || strcmp(stats, "-") == 0) {
		rc = sandbox_enter_dirs(d, &confined);
		why = rc != 0 ? strerror(-rc) : confined ? NULL :
		    "the kernel has no Landlock";
	} else {
		why = "statistics will be written to a file";
	}
	if (why != NULL && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: not confined: %s", p->o.source, why);
}

int
layerpack_open_tmpdir(const struct layerpack *p)
{
	bool spools = p->o.make.kind == LAYER_ZTOC || p->o.make.order != NULL;
	int fd = !spools ? -1 : sys_openat(AT_FDCWD, layerpack_tmpdir(p),
	    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	return fd < 0 ? -1 : fd;
}
