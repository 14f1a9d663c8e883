#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set(struct error *err, const char *code, const char *fmt, va_list args)
{
	snprintf(err->code, sizeof err->code, "%s", code);
	vsnprintf(err->text, sizeof err->text, fmt, args);
}

int fail(struct error *err, const char *code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set(err, code, fmt, args);
	va_end(args);
	return -1;
}

int fail_errno(struct error *err, const char *code, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	set(err, code, fmt, args);
	va_end(args);

	size_t len = strlen(err->text);

	snprintf(err->text + len, sizeof err->text - len, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

int fail_context(struct error *err, const char *fmt, ...)
{
	char words[sizeof err->text];
	va_list args;

	memcpy(words, err->text, sizeof words);
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);

	size_t len = strlen(err->text);

	snprintf(err->text + len, sizeof err->text - len, ": %s", words);
	return -1;
}
