/* SPDX-License-Identifier: MIT */
/*
 * The protocol of the profile buffer (src/live/profbuf.c, profbuf-read.c): storing and giving back, losses and their marks, falling asleep and waking,
 * closing. Checked over every interleaving of a few writes:
 *
 *   order    when a record is delivered, exactly the losses before it have been told
 *   wake     the reader does not sleep while WAKE words are unread, a loss is untold or the buffer is closed
 *   end      the reader comes to it, and nothing comes after it: calls = delivered + told + refused
 *
 * Stores of the writer go through a buffer (sb) and become visible later, in order, as on x86: that is what the fences and the barrier are for, and without one of
 * them the check fails (tests/models/run shows that, too). Read-modify-writes and fences wait until the buffer is empty; the barrier of the closer
 * (membarrier) waits until the writer's buffer is empty, without the writer doing anything.
 *
 * What this does not show. Within a buffer stores keep their order and loads are not delayed: a weaker machine (arm64) may reorder both. There the
 * protocol relies on release and acquire, each of which names its partner in the code; by message passing (words before "stored", "stored" before
 * "busy" off, the run of losses behind "stored") they give the order that the buffer gives here. The two store-buffering shapes (stored/sleeping,
 * busy/closed) have full fences on both sides there, which are as strong as here. The reader's own stores are taken as visible at once: "given" late only
 * makes the writer more careful, and "sleeping" is followed by a fence. Positions do not wrap, records have no padding: tests/unit covers those.
 *
 * Switches: NO_WAKE_FENCE, NO_BARRIER, NO_RECHECK, NO_MARK break it in one place each.
 */
#define CALLS 4
#define CAP   4
#define WAKE  2

#define STORED 100
#define BUSY   101
#define MARKED 102

/* what lies in shared memory */
byte data[CAP];	/* size of the record and losses before it, or of a mark losses so far */
byte stored, given, lost, marked, told;
bool busy, sleeping;
byte closed;	/* 1 closing, 2 closed */
#define MARK		  100
#define RECORD(words, lost) (words + 4 * (lost))

/* who is where, for the claims */
byte calls, refused, delivered;
bool asleep, writer_over, ended;

chan sb = [8] of { byte, byte };

active proctype memory()
{
	byte at, value;
end:	do
	:: atomic {
		sb?at,value ->
		if
		:: at == STORED -> stored = value
		:: at == BUSY -> busy = value
		:: at == MARKED -> marked = value
		:: else -> data[at] = value
		fi
	   }
	od
}

/* The flag is taken back by one, who wakes. */
inline wake()
{
	atomic { empty(sb) -> if :: sleeping -> sleeping = false; asleep = false :: else fi }
}

inline wake_sleeper()
{
#ifndef NO_WAKE_FENCE
	empty(sb);
#endif
	if
	:: sleeping -> wake()
	:: else
	fi
}

inline lose()
{
	atomic { empty(sb) -> lost++ }
	wake_sleeper()
}

active proctype writer()
{
	byte pos, floor, seen_given, seen_lost, my_marked, words, need;

	do
	:: calls < CALLS ->
		calls++;
		sb!BUSY,1;
		if
		:: closed != 0 -> refused++; goto over
		:: closed == 0
		fi;
		if
		:: calls < CALLS -> calls++; lose()	/* a nested signal */
		:: true
		fi;
		seen_lost = lost;
		if :: words = 1 :: words = 2 fi;
		need = words + (seen_lost != my_marked -> 1 : 0);
		seen_given = given;
		if
		:: pos + need > seen_given + CAP -> lose(); goto over
		:: else
		fi;
#ifdef NO_MARK
		my_marked = seen_lost;
#endif
		if
		:: seen_lost != my_marked ->
			sb!(pos % CAP),(MARK + seen_lost); pos++
		:: else
		fi;
		sb!(pos % CAP),RECORD(words, seen_lost);
		pos = pos + words;
		sb!STORED,pos;
		if
		:: seen_lost != my_marked -> my_marked = seen_lost; sb!MARKED,my_marked
		:: else
		fi;
		/* look_after_reader() */
		if
		:: pos - floor >= WAKE ->
			seen_given = given;
			floor = seen_given;
			if
			:: pos - seen_given >= WAKE -> floor = pos; wake_sleeper()
			:: else
			fi
		:: else
		fi;
over:		sb!BUSY,0
	:: else -> break
	od;
	empty(sb);
	writer_over = true
}

active proctype closer()
{
	closed = 1;
#ifndef NO_BARRIER
	empty(sb);	/* membarrier() */
#endif
	closed = 2;
	if
	:: sleeping -> wake()
	:: else
	fi
}

active proctype reader()
{
	byte pos, seen, my_told, now_lost, word;
	bool over;

again:	do
	:: pos < seen ->
		word = data[pos % CAP];
		if
		:: word > MARK -> /* a mark tells what was not told at the end */
			pos++;
			my_told = (word - MARK > my_told -> word - MARK : my_told);
			told = my_told
		:: else ->
			assert(my_told == word / 4); /* what was lost before it is told, and not what was lost after */
			delivered++;
			pos = pos + word % 4
		fi
	:: else -> break
	od;
	given = pos;
	over = false;
	if
	:: closed == 2 -> over = !busy
	:: else
	fi;
	seen = stored;
	if
	:: seen != pos -> goto again
	:: else
	fi;
	/* tell_end() */
	now_lost = lost;
	if
	:: now_lost != my_told ->
#ifndef NO_RECHECK
		if
		:: stored != pos -> seen = stored; goto again
		:: else
		fi;
#endif
		my_told = now_lost;
		told = my_told;
		goto again
	:: else
	fi;
	if
	:: stored != pos -> seen = stored; goto again
	:: over -> goto end_of_it
	:: else
	fi;
	/* fall_asleep() */
	sleeping = true;
	if
	:: stored != pos || lost != my_told || closed == 2 -> sleeping = false; goto again
	:: else
	fi;
	atomic { if :: sleeping -> asleep = true :: else fi }
	!sleeping;
	goto again;
end_of_it:
	ended = true
}

/* The claims that are not assertions on the way. */
active proctype watch()
{
end:	do
	:: atomic {
		asleep && sleeping && empty(sb) && writer_over ->
		assert(stored - given < WAKE && lost == told)
	   }
	:: atomic {
		ended && writer_over && empty(sb) ->
		assert(delivered + told + refused == calls);
		break
	   }
	od
}
