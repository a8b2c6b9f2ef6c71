/* SPDX-License-Identifier: MIT */
/* The images of a profile as the list "libs" of the Firefox format, with their build IDs. */
#include <stdio.h>

#include "format/firefox.h"
#include "image/image.h"
#include "reading/parts.h"

/* As minidump tools write a build id: 16 bytes as a GUID, whose first three fields are
 * little-endian, and an age of 0. */
static void put_breakpad_id(struct json *j, const struct coati_image_info *info)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	char text[2 * sizeof(order) + 2] = "";

	if (info->build_id_size) {
		for (size_t i = 0; i < sizeof(order); i++)
			snprintf(text + 2 * i, 3, "%02X",
				 order[i] < info->build_id_size ? info->build_id[order[i]] : 0);
		text[2 * sizeof(order)] = '0';
	}
	coati_json_kstr(j, "breakpadId", text);
}

static void put_code_id(struct json *j, const struct coati_image_info *info)
{
	char text[2 * COATI_BUILD_ID_MAX + 1];

	coati_json_key(j, "codeId");
	if (!info->build_id_size) {
		coati_json_null(j);
		return;
	}
	for (uint32_t i = 0; i < info->build_id_size && i < COATI_BUILD_ID_MAX; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", info->build_id[i]);
	coati_json_str(j, text);
}

void coati_firefox_libs(struct firefox *x)
{
	struct json *j = &x->json;

	coati_json_key(j, "libs");
	coati_json_array(j);
	for (uint32_t i = 0; i < x->images.len; i++) {
		struct coati_image_info info = { .size = sizeof(info) };

		coati_image_info(coati_profile_images(x->in->profile), x->images.v[i], &info);
		coati_json_object(j);
		coati_json_kstr(j, "arch", "");
		coati_json_kstr(j, "name", coati_firefox_image_name(x, i));
		coati_json_kstr(j, "path",
				info.path && *info.path ? info.path
							: coati_firefox_image_name(x, i));
		coati_json_kstr(j, "debugName", coati_firefox_image_name(x, i));
		coati_json_kstr(j, "debugPath",
				info.path && *info.path ? info.path
							: coati_firefox_image_name(x, i));
		put_breakpad_id(j, &info);
		put_code_id(j, &info);
		coati_json_end(j);
	}
	coati_json_end(j);
}
