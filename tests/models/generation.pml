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
 * may be delayed and stores reordered: there the state after an event is a release that the changer acquires (message passing: the bytes of an event come before it),
 * and the store-buffering shape (state/generation) has a full barrier on both sides, membarrier() in the writer's place. emit.h has the litmus.
 *
 * A handler may come between the writer's look at the state and its store, with an event of its own that goes into the same batch or opens the next; and
 * where the writer waits for the lock, where it finds the slot taken and puts back what it found.
 *
 * Switches: NO_BARRIER leaves out the barrier, NO_WAIT does not wait for a thread that is in an event, NO_CHECK lets the writer not look at the generation,
 * NO_RESTORE lets a handler that finds the slot taken leave it as one that is in no event.
 */
#define EVENTS	5
#define CHANGES 2

#define HANDLERS 1

#define STATE 0
#define USED  1

#define WRITING 255
#define WAITING 254

byte generation = 1, slot_generation;
byte state;		/* the generation of the batch, or in an event, or waits for the lock */
byte own;		/* the same, as the writer sees it */
byte used;		/* events in the open batch, as others see them */
byte mine;		/* the same, as the writer has them */
byte handlers;
bool open;		/* there is a batch */
bool lock;
bool inside;		/* the writer is between its look at the generation and the end of the event */
byte done;

chan sb = [6] of { byte, byte };

active proctype memory()
{
	byte at, value;
end:	do
	:: atomic {
		sb?at,value ->
		if
		:: at == STATE -> state = value
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

inline say(value)
{
	own = value;
	sb!STATE,value
}

/* A handler that finds the slot taken: it enters as ever, sees what it was, and puts that back. */
inline interrupt_taken()
{
	if
	:: handlers < HANDLERS ->
		handlers++;
		found = own;
		say(WRITING);
		assert(found != generation);
#ifdef NO_RESTORE
		say(slot_generation)
#else
		say(found)
#endif
	:: true
	fi
}

/* From the slot entered, with what its state was, to the end of the event. */
inline event(was)
{
	seen = generation;
#ifdef NO_CHECK
	seen = slot_generation;
#endif
	if
	:: seen == was && slot_generation != 0 -> skip
	:: else ->
		/* the slow way: the batch is touched under the lock only */
		say(WAITING);
		interrupt_taken();
		take();
		if
		:: slot_generation != generation || !open ->
			open = true;
			mine = 0;
			used = 0;
			slot_generation = generation
		:: else
		fi;
		state = WRITING;
		own = WRITING;
		leave()
	fi;
	inside = true;
	assert(open);
	mine++;
	sb!USED,mine;
	interrupt_taken();
	assert(open);
	inside = false;
	say(slot_generation)
}

active proctype writer()
{
	byte seen, found, was, before;

	do
	:: done == EVENTS -> break
	:: done < EVENTS ->
		was = own;
		if
		:: handlers < HANDLERS ->
			handlers++;
			before = own;
			say(WRITING);
			event(before)
		:: true
		fi;
		say(WRITING);
		event(was);
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
			:: slot_generation != generation && state == WRITING -> skip
			:: slot_generation != generation && state != WRITING ->
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
