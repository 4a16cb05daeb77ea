// SPDX-License-Identifier: MIT
// What a test needs that a build may lack: called first in it, `needs_inih()` skips it there, and says why.
#pragma once

// after cmocka.h

#define SKIP_WITHOUT(library)                               \
    do {                                                    \
        print_message("skip: built without " library "\n"); \
        skip();                                             \
    } while (0)

#ifdef HAVE_INIH
#define needs_inih() ((void)0)
#else
#define needs_inih() SKIP_WITHOUT("inih")
#endif

#ifdef HAVE_JANSSON
#define needs_jansson() ((void)0)
#else
#define needs_jansson() SKIP_WITHOUT("jansson")
#endif

#ifdef HAVE_SODIUM
#define needs_sodium() ((void)0)
#else
#define needs_sodium() SKIP_WITHOUT("sodium")
#endif

#ifdef HAVE_EXPAT
#define needs_expat() ((void)0)
#else
#define needs_expat() SKIP_WITHOUT("expat")
#endif

// Whether this is a build with a sanitizer, or one for a debugger (-O0), ten times as slow: what is only large, and so
// shows nothing else, is left to the others.
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __OPTIMIZE__
enum { IS_SLOW = 1 };
#else
enum { IS_SLOW = 0 };
#endif

// Address sanitizer's mlock does nothing, and says that it has.
#ifdef __SANITIZE_ADDRESS__
#define needs_mlock()                                                        \
    do {                                                                     \
        print_message("skip: address sanitizer lets no memory be locked\n"); \
        skip();                                                              \
    } while (0)
#else
#define needs_mlock() ((void)0)
#endif
