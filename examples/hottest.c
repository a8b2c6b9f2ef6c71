/* SPDX-License-Identifier: MIT */
/* The ten functions with the most weight of their own in a recording: hottest [FILE] */
#include <coati/profile.h>

#include <stdio.h>

static void print_rows(const struct coati_row *rows, size_t nr, const struct coati_view_info *info)
{
	double whole = info->total ? (double)info->total : 1;

	for (size_t i = 0; i < nr && i < 10; i++)
		printf("%5.1f %%  %s (%s)\n", 100 * (double)rows[i].self / whole, rows[i].name,
		       rows[i].image ? rows[i].image : "");
}

int main(int argc, char **argv)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_FUNCTION };
	struct coati_profile *profile = NULL;
	struct coati_view *view = NULL;
	struct coati_error err = { 0 };
	const struct coati_row *rows;
	struct coati_view_info info = { .size = sizeof(info) };
	size_t nr;

	if (coati_profile_new(NULL, &profile, &err) == 0 &&
	    coati_profile_read(profile, argc > 1 ? argv[1] : "coati.data", NULL, NULL, &err) == 0 &&
	    coati_view_new(profile, NULL, &view, &err) == 0 &&
	    coati_view_rows(view, &q, &rows, &nr, &err) == 0) {
		coati_view_info(view, &info);
		print_rows(rows, nr, &info);
	}
	if (err.code)
		fprintf(stderr, "hottest: %s\n", err.text);
	coati_view_free(&view);
	coati_profile_free(&profile);
	return err.code != 0;
}
