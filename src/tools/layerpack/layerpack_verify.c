/*
 * layerpack_verify.c - verifying a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/sys.h"
#include "lazy/verify/verify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

static void
report_fault(void *arg, const char *text)
{
	struct layerpack *p = arg;

	msg_error(&p->msg, "%s: %s", p->o.source, text);
}

int
layerpack_verify(struct layerpack *p)
{
	/* these cannot be opened once the process is confined */
	struct verify_options o = { .threads = p->o.threads,
		.archive = sys_openat(AT_FDCWD, p->o.source, O_RDONLY |
		    O_CLOEXEC | O_NONBLOCK, 0),
		.spool = sys_openat(AT_FDCWD, layerpack_tmpdir(p), O_TMPFILE |
		    O_RDWR | O_CLOEXEC, 0600),
		.report = report_fault, .arg = p };
	struct layerpack_source s;
	struct layer_range trace;
	struct verify_result r;
	int rc = layerpack_open(p, &s);

	if (rc != 0)
		goto out;
	rc = verify_layer(s.l, blobs_file_blobs(s.blobs), &o, &r);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
	else if (o.spool < 0 && layer_trace(s.l, &trace))
		msg_error(&p->msg, "%s: %s", layerpack_tmpdir(p),
		    strerror(-o.spool));
	else if (p->msg.status == MSG_OK && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu entries, %zu units and %" PRIu64
		    " bytes of data are valid", p->o.source, r.entries,
		    r.units, r.bytes);
out:
	if (o.archive >= 0)
		sys_close(o.archive);
	if (o.spool >= 0)
		sys_close(o.spool);
	layerpack_close(&s);
	return rc;
}
