/* SPDX-License-Identifier: MIT */
/* Writes a recording in another format, and reports what is lost. export FORMAT RECORDING FILE */
#define COATI_EXPERIMENTAL 1
#include <coati/format.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int export(const char *format, const char *from, int fd, struct coati_error *err)
{
	struct coati_export_opts opts = { .size = sizeof(opts) };
	struct coati_export *x = NULL;
	const char *note;
	int r = coati_format_parse(format, &opts.format, err);

	if (r == 0)
		r = coati_export_new(&opts, &x, err);
	if (r == 0)
		r = coati_export_read(x, from, NULL, NULL, err);
	if (r == 0)
		r = coati_export_write(x, fd, err);
	for (uint32_t i = 0; r == 0 && (note = coati_export_note(x, i)); i++)
		printf("note: %s\n", note);
	coati_export_free(&x);
	return r;
}

int main(int argc, char **argv)
{
	struct coati_error err = { 0, 0, "" };
	int fd, r;

	if (argc != 4) {
		fprintf(stderr, "usage: export FORMAT RECORDING FILE\n");
		return 2;
	}
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		fprintf(stderr, "export: %s: %s\n", argv[3], strerror(errno));
		return 1;
	}
	r = export(argv[1], argv[2], fd, &err);
	if (r < 0)
		fprintf(stderr, "export: %s\n", err.text);
	else
		printf("%s written\n", argv[3]);
	return close(fd) < 0 || r < 0;
}
