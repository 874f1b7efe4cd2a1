/*
 * layermount_load.c - opening all layers and their readers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "layermount_store.h"

#include <string.h>

/* Memory for units, in bytes: 32 MiB including unused buffers. */
enum { UNITS_MEMORY = (32 << 20) / 5 * 4 };

static int
open_http(struct layermount *m)
{
	const struct http_options o = { .credentials = m->o.credentials,
		.credentials_for = m->o.credentials_for,
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
	struct stack *s = &m->stack;
	int rc = 0;

	s->first_inode = 1;
	for (int i = 0; rc == 0 && i < m->o.operand_count; i++)
		rc = image_open(s, m->o.operands[i]);
	if (rc == 0)
		rc = stack_build(s, MERGE_MERGED);
	if (rc == 0)
		background_add(s);
	return rc;
}

static int
start(struct layermount *m)
{
	int rc = units_open(&m->units, UNITS_MEMORY);

	if (rc == 0)
		rc = ahead_start(m);
	if (rc == 0)
		rc = background_start(m);
	if (rc == 0)
		rc = push_start(m);
	if (rc == 0 && m->o.store)
		rc = store_open(&m->store, m);
	if (rc != 0)
		msg_error(&m->msg, "%s", strerror(-rc));
	return rc;
}

int
layers_open(struct layermount *m)
{
	int rc = open_http(m);

	m->stack.m = m;
	if (rc == 0)
		rc = start(m);
	if (rc == 0 && !m->o.store)
		rc = open_operands(m);
	return rc;
}

void
layers_close(struct layermount *m)
{
	/* if a thread cannot end, the process is about to exit */
	if (!store_stop(m->store))
		return;
	background_stop(m);
	ahead_stop(m);
	if (!push_stop(m))
		return;
	stack_close(&m->stack);
	store_close(m->store);
	units_close(m->units);
	http_close(m->http);
}
