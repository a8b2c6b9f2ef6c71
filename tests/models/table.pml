/* SPDX-License-Identifier: MIT */
/*
 * Inserting into the table of strings and stacks (src/live/tracer/tables.c): three threads, of which two insert the same key, into three places. Checked
 * over every interleaving:
 *
 *   same     equal keys get one number, different keys different ones
 *   whole    who finds an entry finds its key written
 *   told     who uses a number wrote its definition, or saw that another one had
 *
 * What this does not show: spin knows one order of all accesses. On weaker machines "the key before the head" and "the definition before told" are release
 * and acquire (message passing), named in the code; the swap is one step everywhere.
 *
 * Switches: LATE_KEY writes the key after the head, NO_LOOK_AGAIN takes the next place when the swap is lost, TOLD_FIRST says told before the definition is there.
 */
#define PLACES	3
#define ENTRIES 4

byte head[PLACES];   /* number + 1 of the entry; 0 free */
byte key[ENTRIES];
bool told[ENTRIES], defined[ENTRIES];
byte count;
byte got[3];
byte wants[3];

proctype thread(byte me)
{
	byte place = 0, mine = 255, h;

	do
	:: place < PLACES ->
		h = head[place];
		if
		:: h != 0 ->
			assert(key[h - 1] != 0);
			if
			:: key[h - 1] == wants[me] -> got[me] = h; break
			:: else -> place++
			fi
		:: h == 0 ->
			if
			:: mine == 255 ->
				atomic { mine = count; count++ };
#ifndef LATE_KEY
				key[mine] = wants[me];
#endif
			:: else -> skip
			fi;
			if
			:: atomic { head[place] == 0 -> head[place] = mine + 1 }; got[me] = mine + 1; break
			:: atomic { head[place] != 0 -> skip };
#ifdef NO_LOOK_AGAIN
				place++
#endif
			fi
		fi
	:: else -> break
	od;
#ifdef LATE_KEY
	if
	:: mine != 255 -> key[mine] = wants[me]
	:: else -> skip
	fi;
#endif
	/* the definition in front of the event that uses the number */
	if
	:: told[got[me] - 1] -> assert(defined[got[me] - 1])
	:: else ->
#ifdef TOLD_FIRST
		told[got[me] - 1] = true;
		defined[got[me] - 1] = true
#else
		defined[got[me] - 1] = true;
		told[got[me] - 1] = true
#endif
	fi
}

init
{
	wants[0] = 1;
	wants[1] = 1;
	wants[2] = 2;
	atomic {
		run thread(0);
		run thread(1);
		run thread(2)
	};
	(_nr_pr == 1);
	assert(got[0] != 0 && got[0] == got[1] && got[2] != got[0]);
}
