# SPDX-License-Identifier: BSD-2-Clause
# mailgen: generate a mail corpus; coldwalk's digest code computes its hash
option(COLDPRESS_MAILGEN "Build mailgen (needs OpenSSL)" ON)

if(COLDPRESS_MAILGEN AND COLDWALK_BUILT)
    coldpress_folders(mail)
    coldpress_tool(mailgen)
    target_link_libraries(mailgen PRIVATE ${COLDWALK_LIBRARIES})
    set(MAILGEN_BUILT ON)
elseif(COLDPRESS_MAILGEN)
    list(APPEND lost "mailgen: needs everything that coldwalk needs")
else()
    list(APPEND lost "mailgen: COLDPRESS_MAILGEN is OFF")
endif()
