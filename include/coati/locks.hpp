/* SPDX-License-Identifier: MIT */
/*
 * C++ locks for the mutex and block profiles of <coati/locks.h>: coati::mutex and the others are
 * used like std::mutex, with std::lock_guard, std::unique_lock, std::shared_lock and
 * std::scoped_lock. Everything is inline; needs C++17.
 *
 *	coati::mutex mutex;
 *	coati::condition_variable changed;
 *
 *	std::unique_lock lock(mutex);
 *	changed.wait(lock, [&] { return !queue.empty(); });
 *
 * They are pthread locks of the same size as those of the standard library, with the cost of
 * coati_mutex_lock(). Differences: recursive_mutex throws std::system_error when it is locked too
 * often; a timeout follows the clock that the caller names, even when another clock is set
 * meanwhile.
 */
#ifndef COATI_LOCKS_HPP
#define COATI_LOCKS_HPP

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include <coati/locks.h>

namespace coati
{

/* Internal. */
namespace locks_
{

inline void check(int error)
{
	if (error)
		throw std::system_error(error, std::generic_category());
}

/* The longest timeout: practically forever, and sums of it do not overflow. */
typedef std::chrono::hours hours;
constexpr hours for_ever = hours(24 * 365 * 20);

/* Converts a deadline of @Clock to @Base, the clock of the pthread function. The function may
 * return early when one of the clocks was set: the caller checks its own clock again. */
template <class Base, class Clock, class Duration>
timespec deadline(const std::chrono::time_point<Clock, Duration> &until)
{
	using namespace std::chrono;
	auto now = Clock::now();
	nanoseconds ns = Base::now().time_since_epoch();
	timespec t;

	if (until > now + for_ever)
		ns += for_ever;
	else if (until > now)
		ns += ceil<nanoseconds>(until - now);
	t.tv_sec = static_cast<time_t>(ns.count() / 1000000000);
	t.tv_nsec = static_cast<long>(ns.count() % 1000000000);
	return t;
}

/* Whether @lock, which takes a timespec and returns an errno, got the lock before @until. */
template <class Clock, class Duration, class Lock>
bool lock_until(const std::chrono::time_point<Clock, Duration> &until, Lock lock)
{
	for (;;) {
		timespec t = deadline<std::chrono::system_clock>(until);
		int error = lock(&t);

		if (error != ETIMEDOUT) {
			check(error);
			return true;
		}
		if (Clock::now() >= until)
			return false;
	}
}

template <class Rep, class Period>
std::chrono::steady_clock::time_point after(const std::chrono::duration<Rep, Period> &time)
{
	using namespace std::chrono;

	return steady_clock::now() +
	       (time > for_ever ? for_ever : ceil<steady_clock::duration>(time));
}

/* A pthread_mutex_t with the member functions common to all mutexes. */
class any_mutex
{
      public:
	typedef pthread_mutex_t *native_handle_type;

	any_mutex(const any_mutex &) = delete;
	any_mutex &operator=(const any_mutex &) = delete;

	void lock()
	{
		check(coati_mutex_lock(&mutex_));
	}
	bool try_lock() noexcept
	{
		return pthread_mutex_trylock(&mutex_) == 0;
	}
	void unlock() noexcept
	{
		coati_mutex_unlock(&mutex_);
	}
	native_handle_type native_handle() noexcept
	{
		return &mutex_;
	}

      protected:
	constexpr any_mutex() noexcept = default;
	explicit any_mutex(int kind)
	{
		pthread_mutexattr_t attr;

		check(pthread_mutexattr_init(&attr));
		pthread_mutexattr_settype(&attr, kind);
		int error = pthread_mutex_init(&mutex_, &attr);
		pthread_mutexattr_destroy(&attr);
		check(error);
	}
	~any_mutex()
	{
		pthread_mutex_destroy(&mutex_);
	}

	pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/* Base with timed locking. */
template <class Base> class timed : public Base
{
      public:
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return try_lock_until(after(time));
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
	{
		return lock_until(until, [this](const timespec *t) {
			return coati_mutex_timedlock(this->native_handle(), t);
		});
	}
};

} // namespace locks_

/* std::mutex. */
class mutex : public locks_::any_mutex
{
      public:
	constexpr mutex() noexcept = default;
};

/* std::recursive_mutex. */
class recursive_mutex : public locks_::any_mutex
{
      public:
	recursive_mutex() : any_mutex(PTHREAD_MUTEX_RECURSIVE)
	{
	}
};

/* std::timed_mutex and std::recursive_timed_mutex. */
typedef locks_::timed<mutex> timed_mutex;
typedef locks_::timed<recursive_mutex> recursive_timed_mutex;

/* std::shared_mutex, and std::shared_timed_mutex. */
class shared_mutex
{
      public:
	typedef pthread_rwlock_t *native_handle_type;

	constexpr shared_mutex() noexcept = default;
	~shared_mutex()
	{
		pthread_rwlock_destroy(&lock_);
	}
	shared_mutex(const shared_mutex &) = delete;
	shared_mutex &operator=(const shared_mutex &) = delete;

	void lock()
	{
		locks_::check(coati_rwlock_wrlock(&lock_));
	}
	bool try_lock() noexcept
	{
		return pthread_rwlock_trywrlock(&lock_) == 0;
	}
	void unlock() noexcept
	{
		coati_rwlock_unlock(&lock_);
	}
	void lock_shared()
	{
		locks_::check(coati_rwlock_rdlock(&lock_));
	}
	bool try_lock_shared() noexcept
	{
		return pthread_rwlock_tryrdlock(&lock_) == 0;
	}
	void unlock_shared() noexcept
	{
		unlock();
	}
	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return try_lock_until(locks_::after(time));
	}
	template <class Clock, class Duration>
	bool try_lock_until(const std::chrono::time_point<Clock, Duration> &until)
	{
		return locks_::lock_until(until, [this](const timespec *t) {
			return coati_rwlock_timedwrlock(&lock_, t);
		});
	}
	template <class Rep, class Period>
	bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
	{
		return try_lock_shared_until(locks_::after(time));
	}
	template <class Clock, class Duration>
	bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &until)
	{
		return locks_::lock_until(until, [this](const timespec *t) {
			return coati_rwlock_timedrdlock(&lock_, t);
		});
	}
	native_handle_type native_handle() noexcept
	{
		return &lock_;
	}

      private:
	pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

typedef shared_mutex shared_timed_mutex;

/* std::condition_variable, for a std::unique_lock of a coati::mutex. */
class condition_variable
{
      public:
	condition_variable()
	{
		pthread_condattr_t attr;

		locks_::check(pthread_condattr_init(&attr));
		pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		int error = pthread_cond_init(&cond_, &attr);
		pthread_condattr_destroy(&attr);
		locks_::check(error);
	}
	~condition_variable()
	{
		pthread_cond_destroy(&cond_);
	}
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;

	void notify_one() noexcept
	{
		pthread_cond_signal(&cond_);
	}
	void notify_all() noexcept
	{
		pthread_cond_broadcast(&cond_);
	}
	template <class Mutex> void wait(std::unique_lock<Mutex> &lock)
	{
		locks_::check(coati_cond_wait(&cond_, lock.mutex()->native_handle()));
	}
	template <class Mutex, class Predicate>
	void wait(std::unique_lock<Mutex> &lock, Predicate is_true)
	{
		while (!is_true())
			wait(lock);
	}
	template <class Mutex, class Clock, class Duration>
	std::cv_status wait_until(std::unique_lock<Mutex> &lock,
				  const std::chrono::time_point<Clock, Duration> &until)
	{
		timespec t = locks_::deadline<std::chrono::steady_clock>(until);
		int error = coati_cond_timedwait(&cond_, lock.mutex()->native_handle(), &t);

		if (error != ETIMEDOUT)
			locks_::check(error);
		return error == ETIMEDOUT && Clock::now() >= until ? std::cv_status::timeout
								   : std::cv_status::no_timeout;
	}
	template <class Mutex, class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<Mutex> &lock,
			const std::chrono::time_point<Clock, Duration> &until, Predicate is_true)
	{
		while (!is_true())
			if (wait_until(lock, until) == std::cv_status::timeout)
				return is_true();
		return true;
	}
	template <class Mutex, class Rep, class Period>
	std::cv_status wait_for(std::unique_lock<Mutex> &lock,
				const std::chrono::duration<Rep, Period> &time)
	{
		return wait_until(lock, locks_::after(time));
	}
	template <class Mutex, class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<Mutex> &lock, const std::chrono::duration<Rep, Period> &time,
		      Predicate is_true)
	{
		return wait_until(lock, locks_::after(time), is_true);
	}

      private:
	pthread_cond_t cond_;
};

} // namespace coati

#endif
