# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# TAP for shell scripts: source it, call tap_result for each claim, tap_skip for what cannot run here, tap_end last.

tap_count=0
tap_failed=0

# tap_result NAME [DIAGNOSIS]: passes when there is nothing to diagnose.
tap_result()
{
	tap_count=$((tap_count + 1))
	if [ -z "${2-}" ]; then
		echo "ok $tap_count - $1"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $1"
		printf '%s\n' "$2" | sed 's/^/# /'
	fi
}

tap_skip()
{
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# The plan; its status is that of the script.
tap_end()
{
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
