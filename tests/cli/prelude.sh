# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What cases may use.

# as_user COMMAND...: as an ordinary user without capabilities. The tool is copied to where that user can read it.
as_user()
{
	if [ ! -e ./coati ]; then
		cp "$(realpath "$COATI")" ./coati
		cp "$(dirname "$(realpath "$COATI")")"/../src/libcoati.so.0 ./libcoati.so.0
		cp "$HELPERS"/touch-pages .
		chmod 755 coati libcoati.so.0 touch-pages
	fi
	LD_LIBRARY_PATH=$PWD setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}

# is_json FILE: every line is one JSON value, and there is one.
is_json()
{
	[ -s "$1" ] && "$HELPERS/../json-check" --lines <"$1"
}

# read_page PAGE SECTION: what lies in a page of report --html or diff --html.
read_page()
{
	"$CLI/../page/read-page" "$@"
}

# json_number KEY: the first number behind KEY in the JSON on stdin.
json_number()
{
	sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" | head -n 1
}

# count_of EVENT: its count in the JSON on stdin.
count_of()
{
	sed -n "s/.*{\"event\":\"$1\",\"count\":\([0-9]*\).*/\1/p" | head -n 1
}

# wait_until COMMAND...: until it succeeds. The limit is for what never comes; a machine that is busy makes us wait, not fail.
wait_until()
{
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 2000 ] || { echo "never came: $*" >&2; return 1; }
		sleep 0.01
	done
}

# judge TRIES ALLOWED COMMAND...: for what is left to chance. Runs the command, which prints what is
# wrong, TRIES times; prints what the last wrong try printed when more than ALLOWED tries were off,
# and nothing otherwise. A try is off when it prints something or fails. Every try counts, whatever
# its result is; only a try with status 3, which had nothing to compare (records were lost), is
# repeated, ten times at most. The tries end when the rest cannot change the verdict.
#
# The usual plan is `judge 5 2`, as in tests/lib/odds.h: where at most 1 % of the tries are off by
# chance the case fails once in 100,000 runs, and it finds what makes 90 % of the tries off with the
# probability 0.991. `judge 9 5` does the same where 5 % of the tries are off by chance (1.1e-6 and
# 0.992). Each case states what the percentages mean for it.
judge()
{
	judge_tries=$1 judge_allowed=$2 judge_made=0 judge_off=0 judge_void=0 judge_said=
	shift 2
	while [ "$judge_off" -le "$judge_allowed" ] && [ $((judge_off + judge_tries - judge_made)) -gt "$judge_allowed" ]; do
		judge_status=0
		judge_now=$("$@") || judge_status=$?
		if [ "$judge_status" = 3 ]; then
			judge_void=$((judge_void + 1))
			[ "$judge_void" -le 10 ] || { echo "nothing to compare in $judge_void tries"; return; }
			continue
		fi
		judge_made=$((judge_made + 1))
		[ "$judge_status" != 0 ] || [ -n "$judge_now" ] || continue
		judge_off=$((judge_off + 1))
		judge_said="status $judge_status${judge_now:+
$judge_now}"
	done
	[ "$judge_off" -le "$judge_allowed" ] || printf '%s of %s tries are off, the last with %s\n' "$judge_off" "$judge_made" "$judge_said"
}

# stolen: the time that the host of a virtual machine took from us so far, in ticks; the time during
# which somebody waited for a CPU, and the time, in microseconds.
stolen()
{
	echo "$(awk '$1 == "cpu" { print $9 }' /proc/stat)" \
		"$(sed -n 's/^some.*total=//p' /proc/pressure/cpu 2>/dev/null || echo 0)" "$(date +%s%6N)"
}

# is_starved STOLEN: whether, since stolen printed this, the host took CPU time, or others had the
# CPUs for more than half of the time.
is_starved()
{
	# shellcheck disable=SC2046 # words
	set -- $1 $(stolen)
	[ $# = 6 ] && [ "$4" -gt "$1" ] || { [ $# = 6 ] && [ $((2 * ($5 - $2))) -gt $(($6 - $3)) ]; }
}

# blames_host STOLEN RIGHT: whether coati why, in the file j, says other than what is RIGHT and that the
# machine or its host had a part in it (cannot tell, or rows of that kind), which was really so since
# stolen printed this: then there is nothing to compare. It has to be true of ten tries in a row that
# the case is skipped.
blames_host()
{
	if [ "$2" = yes ] || ! is_starved "$1" ||
		! grep -q '"reason":"\(steal\|mixture\|affected\)"\|"verdict":"\(machine\|stolen\)"' j; then
		rm -f hosts
		return 1
	fi
	echo >>hosts
	[ "$(wc -l <hosts)" -lt 10 ] || echo "others had the CPUs in ten tries in a row" >busy
}

# wait_for FILE: until it is there.
wait_for()
{
	wait_until test -e "$1"
}

# counts_in PID: whether it has counters open.
counts_in()
{
	ls -l "/proc/$1/fd" 2>/dev/null | grep -q perf_event
}

# computed PID TICKS: whether it had so many hundredths of a second of CPU time.
computed()
{
	[ "$(cut -d ' ' -f 14 "/proc/$1/stat")" -ge "$2" ]
}

# until_computed PID: until it has had another tenth of a second of CPU time, however busy the machine is.
until_computed()
{
	wait_until computed "$1" $(($(cut -d ' ' -f 14 "/proc/$1/stat") + 10))
}

# traced PID: whether it writes events for somebody else. The file alone does not say so: it has its name before the recorder's
# thread is started, which takes long on a busy machine, while other threads compute and record nothing. The generation that
# is written, 0 before the first, is in bytes 184 to 191 (struct live_map).
traced()
{
	find /dev/shm/coati-* -name "$1-*.live" -exec od -An -t u8 -j 184 -N 8 {} \; 2>/dev/null | grep -q '[1-9]'
}

# until_traced PID: until it records for somebody else, and has computed for a tenth of a second meanwhile.
until_traced()
{
	wait_until traced "$1" && until_computed "$1"
}

# verbs: all that the overview names, without help itself.
verbs()
{
	"$COATI" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vx -e help -e coati
}

# perf_reads WORDS...: coati record with these words; perf shows what is in the file and has nothing to complain about.
perf_reads()
{
	rm -f coati.data
	"$COATI" record "$@" >out 2>err || { echo "coati record $*: status $?"; cat err; return; }
	for how in 'report --stdio' script 'evlist -v' 'report --stdio --header-only'; do
		# shellcheck disable=SC2086 # the words of how
		perf $how -i coati.data >out 2>err </dev/null || echo "perf $how of $*: status $?"
		# a machine that is busy loses records, and perf reports that for any file; in a chroot perf cannot return to its
		# folder from the mount namespace of a process that it looked into, and reports that as a failed assertion of its own
		sed -i '/^assertion failed at util.namespaces.c:[0-9]*$/d; /^$/d; /lost [0-9]* chunks!$/d; /^Check IO\/CPU overload!$/d; /^Processed [0-9]* samples and lost [0-9.]*%!$/d; /^Warning:$/d' err
		[ ! -s err ] || { echo "perf $how of $* complains:"; head -n 5 err; }
		[ -s out ] || echo "perf $how of $* shows nothing"
	done
	"$COATI" dump >out 2>err || echo "coati dump of $*: status $?"
	[ ! -s err ] || { echo "coati dump of $* complains:"; head -n 5 err; }
}
