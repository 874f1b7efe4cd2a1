# SPDX-License-Identifier: BSD-2-Clause
# Scripts, manuals and builds; what is installed; sanitizers and valgrind
shell_test(lint sh)
shell_test(lint man)
shell_test(lint examples)
shell_test(lint compiler)
shell_test(cli install)
shell_test(cli tarball)
shell_test(cli image_export)
shell_test(cli mailfs)
shell_test(root remote root)
shell_test(root pipe_buffer root)
shell_test(root image_export root)
shell_test(root mailfs root)
shell_test(san address san)
shell_test(san thread san)
shell_test(long valgrind long)
set_tests_properties(san.address san.thread long.valgrind PROPERTIES
    TIMEOUT 7200 RUN_SERIAL ON)
