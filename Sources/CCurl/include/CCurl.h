// libcurl, as the system has it.
#ifndef DRIFTLESS_CCURL_H
#define DRIFTLESS_CCURL_H
#include <curl/curl.h>
#endif
