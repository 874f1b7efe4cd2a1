/*
 * output_tree_remove.h - removing a directory, even in a signal handler
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OUTPUT_TREE_REMOVE_H
#define COLDPRESS_OUTPUT_TREE_REMOVE_H

/*
 * Removes a directory and everything below it, as far as possible.  It may be
 * called in a signal handler, while other threads still create files there.
 */
void output_tree_remove(int at, const char *name);

#endif
