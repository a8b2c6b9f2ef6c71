/* SPDX-License-Identifier: MIT */
/* Names of C++ and of both manglings of Rust, and what is not to be believed of them. */
#include "lib/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <coati/image.h>

#include "image/demangle.h"

static void check_name(const char *symbol, const char *want)
{
	char got[DEMANGLE_OUT_MAX + 64];

	CHECK_INT(coati_demangle(symbol, got, sizeof(got)), ==, strlen(want));
	CHECK_STR(got, want);
}

TEST(demangle_leaves_plain_names_alone)
{
	check_name("main", "main");
	check_name("", "");
	check_name("_start", "_start");
	check_name("_Z", "_Z");
	check_name("_R", "_R");
}

TEST(demangle_loads_no_library_for_names_that_are_not_cpp)
{
	char buf[64];

	if (dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD))
		test_skip("the C++ runtime is loaded already");
	coati_demangle("main", buf, sizeof(buf));
	coati_demangle("_RNvC4demo4main", buf, sizeof(buf));
	coati_demangle("_ZN4core3fmt5write17h0123456789abcdefE", buf, sizeof(buf));
	CHECK(!dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD));
}

TEST(demangle_reads_cpp_where_its_runtime_is_installed)
{
	if (!dlopen("libstdc++.so.6", RTLD_NOW))
		test_skip("there is no libstdc++.so.6");
	check_name("_ZN3foo3barEv", "foo::bar()");
	check_name("_ZNSt6vectorIiSaIiEE9push_backERKi",
		   "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check_name("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]");
	check_name("_ZN3foo3barEi.Cold", "foo::bar(int) [Cold]"); /* as no compiler says it */
	check_name("_ZThisIsNone", "_ZThisIsNone");
}

TEST(demangle_reads_the_first_mangling_of_rust)
{
	check_name("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check_name(
		"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		"17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar");
	check_name("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		   "std::rt::lang_start::{{closure}}");
}

TEST(demangle_reads_the_second_mangling_of_rust)
{
	check_name("_RNvC6_123foo3bar", "123foo::bar");
	check_name(
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		"utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83"
		"\x9a\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1"
		"\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93"
		"\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
	check_name("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
	check_name("_RNvXs5_NtCsd4VYFwevHkG_4bstr4bstrNtB5_4BStrNtNtNtCs9ltgdHTiPiY_4core3ops5deref"
		   "5Deref5deref",
		   "<bstr::bstr::BStr as core::ops::deref::Deref>::deref");
	check_name("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
	check_name("_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new",
		   "<arrayvec::ArrayVec<u8, 123>>::new");
	check_name("_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E",
		   "<const_generic::Unsigned<11>>");
	check_name("_RMCs4fqI2P2rA04_13const_genericINtB0_6SignedKsn98_E",
		   "<const_generic::Signed<-152>>");
	check_name("_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb1_E",
		   "<const_generic::Bool<true>>");
	check_name("_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc76_E",
		   "<const_generic::Char<'v'>>");
	check_name("_RNvC1a1bRTFKC_hEuE",
		   "_RNvC1a1bRTFKC_hEuE"); /* something stands behind it that is no crate */
	check_name("_RIC1aRL_hE", "a::<&u8>");
	check_name("_RIC1aFG_RL0_hEuE", "a::<for<'a> fn(&'a u8)>");
	check_name("_RIC1aDNtC1b1Tp1XhEL_E", "a::<dyn b::T<X = u8>>");
	check_name("_RNvC4demo4main.llvm.1234", "demo::main");
	check_name("_RNvC4demo4main.cold", "demo::main [cold]");
}

TEST(demangle_gives_damaged_names_back_as_they_are)
{
	static const char *const damaged[] = {
		"_RNvC6_123foo", "_RNvC9999999foo3bar", "_RB_",
		"_RNvB_3foo",	 "_RIC1aRL_h",		"_RNvC1a99999999999999999999b",
		"_RC1au",	 "_RNvYB2_B2_3foo",	"_RIC1aKj",
		"_RIC1aKjz_E",	 "_RIC1aL5_E",		"_ZN4core17h0123456789abcdeE",

		"_RNvC1a1b3x",
	};

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		check_name(damaged[i], damaged[i]);
}

TEST(demangle_ends_where_a_name_points_into_itself_again_and_again)
{
	char symbol[2048] = "_RIC1a";
	size_t len = strlen(symbol);

	/* every tuple holds the one before it twice: two to the power of their number */
	len += (size_t)snprintf(symbol + len, sizeof(symbol) - len, "ThhE");
	for (int i = 0; i < 40; i++) {
		len += (size_t)snprintf(symbol + len, sizeof(symbol) - len, "TB4_B4_E");
	}
	snprintf(symbol + len, sizeof(symbol) - len, "E");
	char got[DEMANGLE_OUT_MAX + 64];
	CHECK_OK(coati_demangle(symbol, got, sizeof(got)));
	/* nested as deep as one likes */
	memset(symbol, 'S', sizeof(symbol));
	memcpy(symbol, "_RIC1a", 6);
	symbol[sizeof(symbol) - 1] = '\0';
	CHECK_OK(coati_demangle(symbol, got, sizeof(got)));
	CHECK_STR(got, symbol);
}

TEST(demangle_says_when_the_room_is_too_small)
{
	char buf[10];

	CHECK_ERR(coati_demangle("_RNvC6_123foo3bar", buf, sizeof(buf)), -ENOSPC);
	CHECK_ERR(coati_demangle("longer than ten", buf, sizeof(buf)), -ENOSPC);
	CHECK_INT(coati_demangle("_RNvC1a1b", buf, sizeof(buf)), ==, 4);
}

TEST(demangle_survives_every_cut_and_flip_of_a_long_name)
{
	static const char name[] = "_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVec"
				   "NtNtNtCsdadwybgsbvk_12rustc_middle3hir5"
				   "place10ProjectionE8grow_oneCsjargyg6XnQl_16rustc_hir_typeck";
	char got[DEMANGLE_OUT_MAX + 64], copy[sizeof(name)];

	for (size_t i = 0; i < sizeof(name); i++) {
		for (int c = 0; c < 96; c += 5) {
			memcpy(copy, name, sizeof(name));
			copy[i] = (char)(c ? ' ' + c : 0);
			copy[sizeof(name) - 1] = '\0';
			CHECK_OK(coati_demangle(copy, got, sizeof(got)));
		}
	}
}
