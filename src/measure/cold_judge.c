/*
 * cold_judge.c - deciding whether the files read were cold
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cold_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static void
rule(struct cold_report *r, enum cold_state state, const char *why, ...)
{
	va_list args;

	r->state = state;
	va_start(args, why);
	vsnprintf(r->why, sizeof(r->why), why, args);
	va_end(args);
}

/*
 * Conditions are tested from worst to best, and the first that applies decides.
 */
void
cold_judge(const struct cold *c, struct cold_report *r)
{
	uint64_t resident = r->before.resident + r->images.resident;
	bool kinds[DEVICE_HIDDEN + 1] = { false }, hidden = false, all;

	r->state = COLD_YES;
	*r->why = '\0';
	for (size_t i = 0; i < c->count; i++) {
		kinds[c->devices[i].kind] = true;
		hidden |= c->devices[i].looped && c->devices[i].image < 0;
		r->squashfs |= c->devices[i].squashfs;
	}
	if (kinds[DEVICE_MEMORY]) {
		rule(r, COLD_NO, "the filesystem or its device is in memory");
		return;
	}
	if (kinds[DEVICE_OWN_CACHE] || c->lost)
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
	/* a page in memory is certain, whatever the device */
	if (resident > 0)
		rule(r, COLD_NO, "%" PRIu64 " of %" PRIu64
		    " pages were in memory", resident,
		    r->before.pages + r->images.pages);
	else if (r->before.files == 0)
		rule(r, COLD_UNKNOWN, "nothing was read");
	if (r->state != COLD_YES)
		return;
	/*
	 * No page was seen in memory: has everything that was read come from a
	 * device?  Device counters include all processes.  If the kernel does
	 * not count bytes per process, the counters can confirm the page
	 * counts, but prove nothing by themselves.
	 */
	all = !c->accounted && r->before.unseen == 0 &&
	    r->device_B > 0 && (uint64_t)r->device_B >= c->needed_B;
	if (c->proven_B < c->needed_B && !all)
		rule(r, COLD_UNKNOWN, "devices delivered %" PRIu64
		    " of the %" PRIu64 " bytes that were read",
		    c->proven_B, c->needed_B);
	else if (c->inline_files > 0)
		rule(r, COLD_UNKNOWN, "data that is stored in "
		    "inodes may have been in memory (files: %" PRIu64 ")",
		    c->inline_files);
	else if (r->before.unseen > 0 && c->needed_B > 0)
		rule(r, COLD_YES, "proven by the number of bytes read");
	else if (r->before.unseen > 0)
		rule(r, COLD_UNKNOWN, "only their owners can see how much of "
		    "the files is in memory");
	/* all of a squashfs image must have been read from its device */
	for (size_t i = 0; r->state == COLD_YES && i < c->count; i++) {
		const struct device *d = &c->devices[i];

		if (!d->squashfs)
			continue;
		if (d->data_B < 0)
			rule(r, COLD_UNKNOWN, "squashfs has its own "
			    "cache, and the size of its image cannot be read");
		else if (d->came_B < (uint64_t)d->data_B)
			rule(r, COLD_UNKNOWN, "squashfs has its own "
			    "cache, and the device delivered %" PRIu64 " of "
			    "its image's %" PRId64 " bytes", d->came_B,
			    d->data_B);
	}
}
