# SPDX-License-Identifier: BSD-2-Clause
# mailgen: a corpus of mail; its hash is by what coldwalk brings
option(COLDPRESS_MAILGEN "Build mailgen (needs OpenSSL)" ON)

if(COLDPRESS_MAILGEN AND COLDWALK_BUILT)
    target_sources(coldpress PRIVATE src/mail/attach.c src/mail/body.c
        src/mail/strbuf.c src/mail/encode.c src/mail/head.c src/mail/like.c
        src/mail/measure.c src/mail/parts.c src/mail/prng.c src/mail/sizes.c src/mail/store.c
        src/mail/text.c src/mail/week.c src/mail/words.c src/mail/world.c)
    if(NOT COLDPRESS_FSRATIO)
        target_sources(coldpress PRIVATE src/fs/fs_list.c)
    endif()
    coldpress_tool(mailgen src/mailgen_like.c src/mailgen_options.c
        src/mailgen_profile.c src/mailgen_run.c src/mailgen_stats.c)
    target_include_directories(mailgen PRIVATE src)
    target_link_libraries(mailgen PRIVATE ${COLDWALK_LIBRARIES})
    set(MAILGEN_BUILT ON)
elseif(COLDPRESS_MAILGEN)
    list(APPEND lost "mailgen: it needs what coldwalk needs")
else()
    list(APPEND lost "mailgen: COLDPRESS_MAILGEN is OFF")
endif()
