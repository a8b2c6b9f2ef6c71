# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For cases about files that are deleted or replaced while a program that maps them is recorded.
# Source it, define scenario, and call by_both, which runs scenario as root and as an ordinary user.
# The scenario starts the tool with: as "$tool". It takes -g fp, because unwinding while recording
# opens files, too, but only those of samples, and later.

# spinner NAME FUNCTION [LIBRARY]: a program that computes in FUNCTION until the file "go" exists.
# With LIBRARY the function is in that file.
spinner()
{
	cat >"$1-function.c" <<C
#include <spin.h>
__attribute__((noinline)) void $2(void) { SPIN(80000000); }
C
	cat >"$1.c" <<C
#include <unistd.h>
void $2(void);
int main(void) { do $2(); while (access("go", F_OK)); return 0; }
C
	if [ $# -eq 3 ]; then
		cc -O1 -shared -fPIC -o "$3" "$1-function.c"
		cc -O1 -o "$1" "$1.c" "$PWD/$3"
	else
		cc -O1 -o "$1" "$1.c" "$1-function.c"
	fi
}

# held FILE: whether a process has mapped it, and one has it open, as the recorder has what is mapped; FILE may be deleted.
# The recorder may have it open for a moment before it starts the program, which then is not this file yet.
held()
{
	grep -qsF " $PWD/$1" /proc/[0-9]*/maps && find /proc/[0-9]*/fd -type l -printf '%l\n' 2>/dev/null |
		grep -qx -e "$PWD/$1" -e "$PWD/$1 (deleted)"
}

# until_held FILE: until the recorder has it open. Nothing else in a case does.
until_held()
{
	wait_until held "$1"
}

# named FUNCTION FILE: in how many rows of the report of run.data it is.
named()
{
	"$COATI" report -q -i run.data --csv >report.csv
	grep -c "^$1,$2," report.csv || :
}

by_both()
{
	chmod 777 .
	for who in root user; do
		rm -f go stop ended run.data
		case $who in
		root) tool=$COATI && as() { "$@"; } ;;
		user) as_user true && tool=./coati && as() { as_user "$@"; } ;;
		esac
		scenario
	done
}
