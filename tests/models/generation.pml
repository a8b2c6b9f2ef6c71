/* SPDX-License-Identifier: MIT */
/*
 * The hand-over of a thread's batch (src/live/tracer/emit.h, thread.c, generation.c): a thread that writes events, and who changes the generation and closes
 * the batches of threads that are in no event. Checked over every interleaving of a few events and two changes:
 *
 *   owner    nobody writes into a batch that is closed, and nobody closes one that is being written
 *   whole    the events of a closed batch are as many as were written into it
 *   moves    when a change is over, the thread's next event is in the new generation
 *
 * Stores of the writer go through a buffer (sb) and become visible later, in order, as on x86; its own loads see them at once. The barrier (membarrier) waits
 * until the buffer is empty, without the writer doing anything; taking and leaving the lock empties it, too.
 *
 * What this does not show: spin knows one order of all accesses; the buffer adds what x86 does and no more. On a weaker machine (arm64) loads
 * may be delayed and stores reordered: there "writing = 0" is a release that the changer acquires (message passing: the bytes of an event come before it), and the
 * store-buffering shape (writing/generation) has a full barrier on both sides, membarrier() in the writer's place. emit.h has the litmus.
 *
 * Switches: NO_BARRIER leaves out the barrier, NO_WAIT does not wait for a thread that is in an event, NO_CHECK lets the writer not look at the generation.
 */
#define EVENTS	5
#define CHANGES 2

#define WRITING 0
#define USED	1

byte generation = 1, slot_generation;
byte writing;		/* 0, 1 in an event, 2 waits for the lock */
byte used;		/* events in the open batch, as others see them */
byte mine;		/* the same, as the writer has them */
bool open;		/* there is a batch */
bool lock;
bool inside;		/* the writer is between its look at the generation and the end of the event */
byte done;

chan sb = [4] of { byte, byte };

active proctype memory()
{
	byte at, value;
end:	do
	:: atomic {
		sb?at,value ->
		if
		:: at == WRITING -> writing = value
		:: at == USED -> used = value
		fi
	   }
	od
}

inline drain()
{
	atomic { empty(sb) -> skip }
}

inline take()
{
	drain();
	atomic { !lock -> lock = true }
}

inline leave()
{
	drain();
	lock = false
}

active proctype writer()
{
	byte seen;

	do
	:: done == EVENTS -> break
	:: done < EVENTS ->
		sb!WRITING,1;
		seen = generation;
#ifdef NO_CHECK
		seen = slot_generation;
#endif
		if
		:: seen == slot_generation && slot_generation != 0 -> skip
		:: else ->
			/* the slow way: the batch is touched under the lock only */
			sb!WRITING,2;
			take();
			open = true;
			mine = 0;
			used = 0;
			slot_generation = generation;
			writing = 1;
			leave()
		fi;
		inside = true;
		assert(open);
		mine++;
		sb!USED,mine;
		assert(open);
		inside = false;
		sb!WRITING,0;
		done++
	od;
	drain()
}

active proctype changer()
{
	byte changes = 0;
	bool over;

	do
	:: changes == CHANGES -> break
	:: changes < CHANGES ->
		atomic { !lock -> lock = true };
		generation++;
		lock = false;
#ifndef NO_BARRIER
		drain();
#endif
		over = false;
		do
		:: over -> break
		:: !over ->
			atomic { !lock -> lock = true };
			if
			:: slot_generation == generation -> over = true
#ifdef NO_WAIT
			:: slot_generation != generation ->
#else
			:: slot_generation != generation && writing == 1 -> skip
			:: slot_generation != generation && writing != 1 ->
#endif
				/* close it: nobody is in it, and all of its events are there */
				assert(!inside);
				if
				:: open -> assert(used == mine)
				:: else -> skip
				fi;
				open = false;
				over = true
			fi;
			lock = false
		od;
		changes++
	od
}
