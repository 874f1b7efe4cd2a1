/*
 * cold_judge.c - deciding whether the files read were cold
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cold_impl.h"

#include <inttypes.h>
#include <stdio.h>

static void
rule(struct cold_report *r, enum cold_state state, const char *why)
{
	r->state = state;
	snprintf(r->why, sizeof(r->why), "%s", why);
}

/*
 * Conditions are tested from worst to best, and the first that applies decides.
 */
static void
judge_devices(const struct cold *c, struct cold_report *r)
{
	bool kinds[DEVICE_HIDDEN + 1] = { false }, hidden = false;

	for (size_t i = 0; i < c->count; i++) {
		kinds[c->devices[i].kind] = true;
		hidden |= c->devices[i].looped && c->devices[i].image < 0;
		r->squashfs |= c->devices[i].squashfs;
	}
	if (kinds[DEVICE_MEMORY])
		rule(r, COLD_NO, "the filesystem or its device is in memory");
	else if (kinds[DEVICE_OWN_CACHE] || c->lost)
		rule(r, COLD_UNKNOWN, "a filesystem has its own cache, "
		    "which cannot be inspected");
	else if (kinds[DEVICE_REMOTE])
		rule(r, COLD_UNKNOWN, "the cache of a server or userspace "
		    "daemon cannot be inspected");
	else if (kinds[DEVICE_HIDDEN])
		rule(r, COLD_UNKNOWN, "the device under the filesystem is not "
		    "in /sys");
	else if (kinds[DEVICE_LAYERS])
		rule(r, COLD_UNKNOWN, "the filesystem may be on a "
		    "cached image");
	else if (hidden)
		rule(r, COLD_UNKNOWN, "the image behind a loop device cannot "
		    "be opened");
	else if (r->images.unseen > 0)
		rule(r, COLD_UNKNOWN, "only its owner can see how much of the "
		    "image behind a loop device is in memory");
}

/*
 * If no page was seen in memory, judges whether everything that was read came
 * from a device.
 */
static void
judge_traffic(const struct cold *c, struct cold_report *r)
{
	/*
	 * Device counters include all processes.  If the kernel does not count
	 * bytes per process, the counters can confirm the page counts, but
	 * prove nothing by themselves.
	 */
	bool all = !c->accounted && r->before.unseen == 0 &&
	    r->device_B > 0 && (uint64_t)r->device_B >= c->needed_B;

	if (c->proven_B < c->needed_B && !all) {
		r->state = COLD_UNKNOWN;
		snprintf(r->why, sizeof(r->why), "devices delivered %" PRIu64
		    " of the %" PRIu64 " bytes that were read",
		    c->proven_B, c->needed_B);
	} else if (c->inline_files > 0) {
		r->state = COLD_UNKNOWN;
		snprintf(r->why, sizeof(r->why), "data that is stored in "
		    "inodes may have been in memory (files: %" PRIu64 ")",
		    c->inline_files);
	} else if (r->before.unseen > 0 && c->needed_B > 0) {
		rule(r, COLD_YES, "proven by the number of bytes read");
	} else if (r->before.unseen > 0) {
		rule(r, COLD_UNKNOWN, "only their owners can see how much of "
		    "the files is in memory");
	}
	/* all of a squashfs image must have been read from its device */
	for (size_t i = 0; r->state == COLD_YES && i < c->count; i++) {
		const struct device *d = &c->devices[i];

		if (!d->squashfs || (d->data_B >= 0 &&
		    d->came_B >= (uint64_t)d->data_B))
			continue;
		r->state = COLD_UNKNOWN;
		if (d->data_B < 0)
			rule(r, COLD_UNKNOWN, "squashfs has its own "
			    "cache, and the size of its image cannot be read");
		else
			snprintf(r->why, sizeof(r->why), "squashfs has its own "
			    "cache, and the device delivered %" PRIu64 " of "
			    "its image's %" PRId64 " bytes", d->came_B,
			    d->data_B);
	}
}

void
cold_judge(const struct cold *c, struct cold_report *r)
{
	uint64_t resident = r->before.resident + r->images.resident;

	rule(r, COLD_YES, "");
	judge_devices(c, r);
	if (r->state == COLD_NO)
		return;
	if (resident > 0) {
		r->state = COLD_NO;
		snprintf(r->why, sizeof(r->why), "%" PRIu64 " of %" PRIu64
		    " pages were in memory", resident,
		    r->before.pages + r->images.pages);
	} else if (r->before.files == 0) {
		rule(r, COLD_UNKNOWN, "nothing was read");
	} else if (r->state == COLD_YES) {
		judge_traffic(c, r);
	}
}
