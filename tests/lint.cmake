# SPDX-License-Identifier: BSD-2-Clause
# Scripts, manuals and builds; what is installed; sanitizers and valgrind
shell_test(lint sh)
shell_test(lint includes)
shell_test(lint doc)
shell_test(lint man)
shell_test(lint examples)
shell_test(lint compiler)
shell_test(cli install)
shell_test(cli options)
shell_test(cli study)
shell_test(cli tarball)
shell_test(cli image_export)
shell_test(cli mailfs)
shell_test(cli snap_startup)
shell_test(root remote root)
shell_test(root pipe_buffer root)
shell_test(root image_export root)
shell_test(root mailfs root)
shell_test(root snap_startup root)
# there can be only one zfs-fuse
set_tests_properties(root.mailfs PROPERTIES TIMEOUT 1800
    RESOURCE_LOCK zfs-fuse)
shell_test(san address san)
shell_test(san thread san)
shell_test(long valgrind long)
shell_test(long options long)
set_tests_properties(san.address san.thread long.valgrind long.options
    PROPERTIES TIMEOUT 7200 RUN_SERIAL ON)
