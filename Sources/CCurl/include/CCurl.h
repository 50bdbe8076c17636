// libcurl, as the system has it, and what Swift cannot call by itself.
//
// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, and Swift imports no
// variadic C function. Each shim below fixes the one argument type that the options of its name
// take; an option given to the wrong shim answers CURLE_BAD_FUNCTION_ARGUMENT or
// CURLE_UNKNOWN_OPTION, never undefined behaviour, because every shim checks the option's own type
// range.
#ifndef DRIFTLESS_CCURL_H
#define DRIFTLESS_CCURL_H
#include <curl/curl.h>

// Options whose argument is a long (CURLOPTTYPE_LONG).
static inline CURLcode driftless_curl_set_long(CURL *easy, CURLoption option, long value) {
  if ((int)option / 10000 != CURLOPTTYPE_LONG / 10000) return CURLE_BAD_FUNCTION_ARGUMENT;
  return curl_easy_setopt(easy, option, value);
}

// Options whose argument is a 64-bit size (CURLOPTTYPE_OFF_T).
static inline CURLcode driftless_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  if ((int)option / 10000 != CURLOPTTYPE_OFF_T / 10000) return CURLE_BAD_FUNCTION_ARGUMENT;
  return curl_easy_setopt(easy, option, value);
}

// Options whose argument is a C string, which libcurl copies (CURLOPTTYPE_OBJECTPOINT).
static inline CURLcode driftless_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  if ((int)option / 10000 != CURLOPTTYPE_OBJECTPOINT / 10000) return CURLE_BAD_FUNCTION_ARGUMENT;
  return curl_easy_setopt(easy, option, value);
}

// Options whose argument is a pointer that must outlive the transfer (CURLOPTTYPE_OBJECTPOINT).
static inline CURLcode driftless_curl_set_pointer(
    CURL *easy, CURLoption option, const void *value) {
  if ((int)option / 10000 != CURLOPTTYPE_OBJECTPOINT / 10000) return CURLE_BAD_FUNCTION_ARGUMENT;
  return curl_easy_setopt(easy, option, value);
}

// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION: the two callbacks have one shape.
typedef size_t (*driftless_curl_sink)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode driftless_curl_set_sink(
    CURL *easy, CURLoption option, driftless_curl_sink sink) {
  if (option != CURLOPT_WRITEFUNCTION && option != CURLOPT_HEADERFUNCTION)
    return CURLE_BAD_FUNCTION_ARGUMENT;
  return curl_easy_setopt(easy, option, sink);
}

// CURLOPT_PREREQFUNCTION: called when a connection stands, before the request goes out.
static inline CURLcode driftless_curl_set_connected(
    CURL *easy, curl_prereq_callback connected, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, connected);
  return code == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PREREQDATA, context) : code;
}

// Trusts the authorities of one file and no others: libcurl adds those of the folder that it was built with, and may keep a
// file's content beyond its change.
static inline CURLcode driftless_curl_trust_file(CURL *easy, const char *file) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_CAINFO, file);
  if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
#if LIBCURL_VERSION_NUM >= 0x075700
  if (code == CURLE_OK) curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
  return code;
}

// The status code of the last response, 0 when there was none.
static inline long driftless_curl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

// How many new connections the last transfer had to make.
static inline long driftless_curl_connects(CURL *easy) {
  long count = 0;
  return curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &count) == CURLE_OK ? count : 0;
}

// Where a redirect that was not followed points to, or NULL.
static inline const char *driftless_curl_redirect(CURL *easy) {
  const char *url = NULL;
  return curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &url) == CURLE_OK ? url : NULL;
}

// What the TLS library said of the peer's certificate: 0 when it found nothing, else a number of its own.
static inline long driftless_curl_verification(CURL *easy) {
  long result = 0;
  return curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &result) == CURLE_OK ? result : 0;
}

// The next finished transfer of a multi handle: its easy handle, or NULL when none is left; *result
// is how it ended.
static inline CURL *driftless_curl_finished(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

// The version of the library in use, such as "7.88.1".
static inline const char *driftless_curl_version(void) {
  return curl_version_info(CURLVERSION_NOW)->version;
}
#endif
