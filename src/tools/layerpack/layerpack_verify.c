/*
 * layerpack_verify.c - verifying every unit of a layer, and its archive
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every unit must match its digest.  The archive, decompressed from its start
 * as by tar(1), must contain the same entries as the index and the same data as
 * the units, so that readers of either see the same files.  The compact index
 * and the trace, which some readers use instead of the index and the units, must
 * also match.
 */
#include "layerpack_verify.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

const uint8_t *
verify_unit(struct verify *v, uint32_t unit)
{
	int rc;

	if (v->state[unit] == UNIT_GOOD && v->unit == unit)
		return v->reader.content;
	if (v->state[unit] == UNIT_BAD)
		return NULL;
	rc = unit_read(&v->reader, unit);
	v->unit = unit;
	v->state[unit] = rc == 0 ? UNIT_GOOD : UNIT_BAD;
	if (rc == 0)
		return v->reader.content;
	msg_error(&v->p->msg, "%s: unit %" PRIu32 ": %s", v->p->o.source, unit,
	    rc == -EBADMSG ? v->reader.why : strerror(-rc));
	return NULL;
}

/* Verifies units that no entry of the archive uses. */
static void
verify_rest(struct verify *v)
{
	for (size_t u = 0; u < v->units; u++)
		if (v->state[u] == UNIT_UNREAD)
			verify_unit(v, (uint32_t)u);
}

/* Compares the compact index, which some readers use, with the index. */
static int
verify_compact(struct verify *v)
{
	char why[LAYER_WHY] = "";
	int rc = layer_check_compact(v->s.l, why);

	if (rc == 0 || rc == -ENOMEM)
		return rc;
	msg_error(&v->p->msg, "%s: %s", v->p->o.source, why);
	return 0;
}

static int
verify(struct verify *v)
{
	const struct layer_blobs *b = blobs_file_blobs(v->s.blobs);
	uint64_t size;
	int rc;

	v->entries = layer_entries(v->s.l, &v->count);
	layer_units(v->s.l, &v->units);
	v->state = sys_calloc(v->units + 1, 1);
	rc = v->state == NULL ? -ENOMEM : unit_reader_open(&v->reader, &v->s);
	if (rc == 0)
		rc = digest_algo_open(&v->sha256, "sha256");
	if (rc == 0)
		rc = digest_new(&v->digest, v->sha256);
	if (rc == 0 && b->size(b->arg, NULL, &size) == 0)
		rc = verify_archive(v);
	if (rc == 0)
		verify_rest(v);
	if (rc == 0)
		rc = verify_compact(v);
	return rc != 0 ? rc : verify_trace(v);
}

/* Opens the files that cannot be opened once the process is confined. */
static void
open_files(struct verify *v)
{
	v->archive = sys_openat(AT_FDCWD, v->p->o.source, O_RDONLY |
	    O_CLOEXEC | O_NONBLOCK, 0);
	v->trace = sys_openat(AT_FDCWD, layerpack_tmpdir(v->p), O_TMPFILE |
	    O_RDWR | O_CLOEXEC, 0600);
}

static void
close_files(struct verify *v)
{
	if (v->archive >= 0)
		sys_close(v->archive);
	if (v->trace >= 0)
		sys_close(v->trace);
}

int
layerpack_verify(struct layerpack *p)
{
	struct verify v = { .p = p };
	int rc;

	open_files(&v);
	rc = layerpack_open(p, &v.s);
	if (rc == 0) {
		rc = verify(&v);
		if (rc != 0)
			msg_error(&p->msg, "%s: %s", p->o.source,
			    strerror(-rc));
	}
	if (rc == 0 && p->msg.status == MSG_OK && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu entries, %zu units and %" PRIu64
		    " bytes of data are valid", p->o.source, v.count, v.units,
		    v.bytes);
	close_files(&v);
	digest_free(v.digest);
	digest_algo_close(v.sha256);
	unit_reader_close(&v.reader);
	sys_free(v.state);
	layerpack_close(&v.s);
	return rc;
}
