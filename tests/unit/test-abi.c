/* SPDX-License-Identifier: MIT */
/* Our definitions of the kernel's interface against its own header, as far as the one of the build
 * machine knows it. */
#include "lib/test.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>

#include <coati/abi.h>

/* The kernel has bit fields, we have one word. */
#define CHECK_BIT(field, bit)                                                         \
	do {                                                                          \
		struct perf_event_attr a = { .field = 1 };                            \
		uint64_t flags;                                                       \
                                                                                      \
		memcpy(&flags, (const char *)&a + offsetof(struct coati_attr, flags), \
		       sizeof(flags));                                                \
		CHECK_U64(flags, ==, (bit));                                          \
	} while (0)

TEST(abi_flags_of_an_event_are_the_bits_of_the_kernel)
{
	CHECK_BIT(disabled, COATI_ATTR_DISABLED);
	CHECK_BIT(inherit, COATI_ATTR_INHERIT);
	CHECK_BIT(pinned, COATI_ATTR_PINNED);
	CHECK_BIT(exclusive, COATI_ATTR_EXCLUSIVE);
	CHECK_BIT(exclude_user, COATI_ATTR_EXCLUDE_USER);
	CHECK_BIT(exclude_kernel, COATI_ATTR_EXCLUDE_KERNEL);
	CHECK_BIT(exclude_hv, COATI_ATTR_EXCLUDE_HV);
	CHECK_BIT(exclude_idle, COATI_ATTR_EXCLUDE_IDLE);
	CHECK_BIT(mmap, COATI_ATTR_MMAP);
	CHECK_BIT(comm, COATI_ATTR_COMM);
	CHECK_BIT(freq, COATI_ATTR_FREQ);
	CHECK_BIT(inherit_stat, COATI_ATTR_INHERIT_STAT);
	CHECK_BIT(enable_on_exec, COATI_ATTR_ENABLE_ON_EXEC);
	CHECK_BIT(task, COATI_ATTR_TASK);
	CHECK_BIT(watermark, COATI_ATTR_WATERMARK);
	CHECK_BIT(precise_ip, COATI_ATTR_PRECISE(1));
	CHECK_BIT(mmap_data, COATI_ATTR_MMAP_DATA);
	CHECK_BIT(sample_id_all, COATI_ATTR_SAMPLE_ID_ALL);
	CHECK_BIT(exclude_host, COATI_ATTR_EXCLUDE_HOST);
	CHECK_BIT(exclude_guest, COATI_ATTR_EXCLUDE_GUEST);
	CHECK_BIT(exclude_callchain_kernel, COATI_ATTR_EXCLUDE_CALLCHAIN_KERNEL);
	CHECK_BIT(exclude_callchain_user, COATI_ATTR_EXCLUDE_CALLCHAIN_USER);
	CHECK_BIT(mmap2, COATI_ATTR_MMAP2);
	CHECK_BIT(comm_exec, COATI_ATTR_COMM_EXEC);
	CHECK_BIT(use_clockid, COATI_ATTR_USE_CLOCKID);
	CHECK_BIT(context_switch, COATI_ATTR_CONTEXT_SWITCH);
	CHECK_BIT(write_backward, COATI_ATTR_WRITE_BACKWARD);
	CHECK_BIT(namespaces, COATI_ATTR_NAMESPACES);
	CHECK_BIT(ksymbol, COATI_ATTR_KSYMBOL);
	CHECK_BIT(bpf_event, COATI_ATTR_BPF_EVENT);
	CHECK_BIT(aux_output, COATI_ATTR_AUX_OUTPUT);
	CHECK_BIT(cgroup, COATI_ATTR_CGROUP);
	CHECK_BIT(text_poke, COATI_ATTR_TEXT_POKE);
	CHECK_BIT(build_id, COATI_ATTR_BUILD_ID);
	CHECK_BIT(inherit_thread, COATI_ATTR_INHERIT_THREAD);
	CHECK_BIT(remove_on_exec, COATI_ATTR_REMOVE_ON_EXEC);
	CHECK_BIT(sigtrap, COATI_ATTR_SIGTRAP);
}

#define CHECK_PLACE(theirs, ours) \
	CHECK_U64(offsetof(struct perf_event_attr, theirs), ==, offsetof(struct coati_attr, ours))

TEST(abi_fields_of_an_event_lie_where_the_kernel_has_them)
{
	CHECK_PLACE(type, type);
	CHECK_PLACE(size, size);
	CHECK_PLACE(config, config);
	CHECK_PLACE(sample_period, sample_period);
	CHECK_PLACE(sample_type, sample_type);
	CHECK_PLACE(read_format, read_format);
	CHECK_PLACE(wakeup_events, wakeup);
	CHECK_PLACE(bp_type, bp_type);
	CHECK_PLACE(config1, config1);
	CHECK_PLACE(config2, config2);
	CHECK_PLACE(branch_sample_type, branch_sample_type);
	CHECK_PLACE(sample_regs_user, sample_regs_user);
	CHECK_PLACE(sample_stack_user, sample_stack_user);
	CHECK_PLACE(clockid, clockid);
	CHECK_PLACE(sample_regs_intr, sample_regs_intr);
	CHECK_PLACE(aux_watermark, aux_watermark);
	CHECK_PLACE(sample_max_stack, sample_max_stack);
	CHECK_PLACE(aux_sample_size, aux_sample_size);
	CHECK_PLACE(sig_data, sig_data);
}
