/* SPDX-License-Identifier: MIT */
/*
 * libcoati-live for C++17: regions, tasks, labels and fibers as objects that end with their scope.
 * These are inline wrappers around <coati/live.h>. Locks are in <coati/locks.hpp>, which this
 * header includes.
 *
 *	void serve(const request &r)
 *	{
 *		static coati_site site =
 *			COATI_SITE(COATI_SITE_TASK, "http", "request", nullptr, 0, 0);
 *		coati::task task(site);
 *		coati::working on(task);	this thread works on it until the end of the block
 *		COATI_REGION("parse");			the C macros work, too
 *		...
 *	}						the task ends
 *
 * Objects belong to the thread that created them, except tasks, which may be moved to another
 * thread and end there.
 */
#ifndef COATI_LIVE_HPP
#define COATI_LIVE_HPP

#include <new>
#include <string_view>
#include <utility>

#include <coati/fiber.h>
#include <coati/live.h>
#include <coati/locks.hpp>

namespace coati
{

/* A region of this thread, from here to the end of the block. */
class region
{
      public:
	explicit region(coati_site &site) : site_(COATI_TRACING() ? &site : nullptr)
	{
		if (site_)
			coati_region_begin(site_);
	}
	~region()
	{
		if (site_)
			coati_region_end(site_);
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;

      private:
	coati_site *site_;
};

/* A task: begins here and ends with the object that it was moved to last, or with end(). */
class task
{
      public:
	explicit task(coati_site &site, const task *parent = nullptr)
	{
		coati_task_begin(&site, parent ? &parent->task_ : nullptr, &task_);
	}
	task(task &&other) noexcept : task_(other.task_)
	{
		other.task_.id = 0;
	}
	task &operator=(task &&other) noexcept
	{
		std::swap(task_, other.task_);
		return *this;
	}
	~task()
	{
		end();
	}
	task(const task &) = delete;
	task &operator=(const task &) = delete;

	void end() noexcept
	{
		if (task_.id)
			coati_task_end(&task_);
		task_.id = 0;
	}
	const coati_live_task &get() const noexcept
	{
		return task_;
	}

      private:
	coati_live_task task_{};
};

/* This thread works on a task until the end of the block. */
class working
{
      public:
	explicit working(const task &on) : scope_(coati_task_enter(&on.get()))
	{
	}
	~working()
	{
		coati_task_leave(&scope_);
	}
	working(const working &) = delete;
	working &operator=(const working &) = delete;

      private:
	coati_task_scope scope_;
};

/* A label until the end of the block. */
class label
{
      public:
	label(coati_label_key &key, std::string_view value)
	{
		coati_label_begin_here(&scope_, &key, value.data(), value.size());
	}
	~label()
	{
		coati_label_end(&scope_);
	}
	label(const label &) = delete;
	label &operator=(const label &) = delete;

      private:
	coati_label_scope scope_;
};

/* A fiber, see <coati/fiber.h>. Throws std::bad_alloc. */
class fiber
{
      public:
	fiber()
	{
		if (coati_fiber_create(&fiber_, nullptr) < 0)
			throw std::bad_alloc();
	}
	fiber(fiber &&other) noexcept : fiber_(std::exchange(other.fiber_, nullptr))
	{
	}
	fiber &operator=(fiber &&other) noexcept
	{
		std::swap(fiber_, other.fiber_);
		return *this;
	}
	~fiber()
	{
		coati_fiber_end(&fiber_);
	}
	fiber(const fiber &) = delete;
	fiber &operator=(const fiber &) = delete;

	coati_fiber *get() const noexcept
	{
		return fiber_;
	}

      private:
	coati_fiber *fiber_ = nullptr;
};

/* This thread runs a fiber until the end of the block, then its own code: around the resume() of a
 * coroutine. */
class running
{
      public:
	explicit running(const fiber &f)
	{
		coati_fiber_switch(f.get());
	}
	~running()
	{
		coati_fiber_switch(nullptr);
	}
	running(const running &) = delete;
	running &operator=(const running &) = delete;
};

/* Log a text without formatting. */
inline void log(coati_site &site, std::string_view text)
{
	if (COATI_TRACING())
		coati_log_text(&site, text.data(), text.size());
}

} // namespace coati

#endif
