/* SPDX-License-Identifier: MIT */
/* The fields of OpenTelemetry's profiles.proto, v1development as of 1.10 and 1.11, and its
 * reader. */
#pragma once

#include "format/format.h"

enum otlp_data { OTLP_RESOURCE_PROFILES = 1, OTLP_DICTIONARY };
enum otlp_resource_profiles { OTLP_RESOURCE = 1, OTLP_SCOPE_PROFILES };
enum otlp_resource { OTLP_RESOURCE_ATTRIBUTE = 1 };
enum otlp_key_value { OTLP_KEY = 1, OTLP_VALUE };
enum otlp_any_value {
	OTLP_ANY_STRING = 1,
	OTLP_ANY_BOOL,
	OTLP_ANY_INT,
	OTLP_ANY_DOUBLE,
	OTLP_ANY_ARRAY
};
enum otlp_array { OTLP_ARRAY_VALUE = 1 };
enum otlp_scope_profiles { OTLP_SCOPE = 1, OTLP_PROFILE };
enum otlp_scope { OTLP_SCOPE_NAME = 1, OTLP_SCOPE_VERSION };
enum otlp_profile {
	OTLP_SAMPLE_TYPE = 1,
	OTLP_SAMPLE,
	OTLP_TIME,
	OTLP_DURATION,
	OTLP_PERIOD_TYPE,
	OTLP_PERIOD,
	OTLP_PROFILE_ID,
	OTLP_PROFILE_ATTRIBUTE = 11,
};
enum otlp_type { OTLP_TYPE_TYPE = 1, OTLP_TYPE_UNIT };
enum otlp_sample {
	OTLP_SAMPLE_STACK = 1,
	OTLP_SAMPLE_ATTRIBUTE,
	OTLP_SAMPLE_LINK,
	OTLP_SAMPLE_VALUE,
	OTLP_SAMPLE_TIME,
};
enum otlp_dictionary {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS,
};
enum otlp_mapping {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT,
	OTLP_MAPPING_OFFSET,
	OTLP_MAPPING_FILE,
	OTLP_MAPPING_ATTRIBUTE,
};
enum otlp_stack { OTLP_STACK_LOCATION = 1 };
enum otlp_location {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS,
	OTLP_LOCATION_LINE,
	OTLP_LOCATION_ATTRIBUTE,
};
enum otlp_line { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE, OTLP_LINE_COLUMN };
enum otlp_function {
	OTLP_FUNCTION_NAME = 1,
	OTLP_FUNCTION_SYMBOL,
	OTLP_FUNCTION_FILE,
	OTLP_FUNCTION_LINE,
};
enum otlp_link { OTLP_LINK_TRACE = 1, OTLP_LINK_SPAN };
enum otlp_attribute { OTLP_ATTRIBUTE_KEY = 1, OTLP_ATTRIBUTE_VALUE, OTLP_ATTRIBUTE_UNIT };

int coati_otlp_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
