/*
 * layermount_load.c - opening all layers and their readers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* Bytes of decoded units that are currently unused. */
enum { IDLE_UNITS_MAX = 16 << 20 };

static int
open_http(struct layermount *m)
{
	const struct http_options o = { .credentials = m->o.credentials,
		.auth_file = m->o.auth_file, .ca_file = m->o.ca_file,
		.timeout_s = m->o.timeout_s,
		.connections = m->o.connections };
	char why[LAYER_WHY];
	int rc = http_open(&m->http, &o, why);

	if (rc != 0)
		msg_error(&m->msg, "%s", why);
	return rc;
}

static int
open_operands(struct layermount *m)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < m->o.operand_count; i++)
		rc = image_open(m, m->o.operands[i]);
	return rc;
}

static int
build_tree(struct layermount *m)
{
	char why[LAYER_WHY];
	int rc;

	m->layers = sys_calloc(m->source_count + 1, sizeof(*m->layers));
	m->unit_sources = sys_calloc(m->source_count + 1,
	    sizeof(*m->unit_sources));
	if (m->layers == NULL || m->unit_sources == NULL) {
		msg_error(&m->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->source_count; i++) {
		m->layers[i] = m->sources[i]->layer;
		m->unit_sources[i] = (struct units_source){
			.layer = m->layers[i], .read = source_read,
			.forget = source_forget, .arg = m->sources[i] };
	}
	rc = merge_build(&m->tree, m->layers, m->source_count, MERGE_MERGED,
	    why);
	if (rc != 0)
		msg_error(&m->msg, "%s", why);
	return rc;
}

static int
start(struct layermount *m)
{
	int rc = units_open(&m->units, m->unit_sources, m->source_count,
	    IDLE_UNITS_MAX);

	if (rc == 0)
		m->seen = sys_calloc(merge_count(m->tree), 1);
	if (rc == 0 && m->seen == NULL)
		rc = -ENOMEM;
	if (rc == 0 && m->o.prefetch != PREFETCH_NONE)
		rc = trace_load(m);
	if (rc == 0)
		rc = ahead_start(m);
	if (rc != 0)
		msg_error(&m->msg, "%s", strerror(-rc));
	return rc;
}

int
layers_open(struct layermount *m)
{
	int rc = open_http(m);

	if (rc == 0)
		rc = open_operands(m);
	if (rc == 0)
		rc = build_tree(m);
	if (rc == 0)
		rc = start(m);
	return rc;
}

void
layers_close(struct layermount *m)
{
	void *seen;

	ahead_stop(m);
	trace_free(m->trace);
	units_close(m->units);
	merge_free(m->tree);
	sys_free(m->layers);
	sys_free(m->unit_sources);
	sources_close(m);
	http_close(m->http);
	memcpy(&seen, &m->seen, sizeof(seen));
	sys_free(seen);
}
