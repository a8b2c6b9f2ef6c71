# SPDX-License-Identifier: MIT
#
# What is promised about each struct of the public headers: prints "HEADER STRUCT CLASS".
#
#	sized	its first member is its size, so that it may grow
#	frozen	the comment above it says so, or that of the whole header
#	library	the comment above it says that it is allocated by the library
#	none	nothing is promised: a mistake
FNR == 1 {
	comment = ""
	all = 0
}
/^\/\*/ { comment = "" }
/^\/\*/, /\*\/[ \t]*$/ {
	comment = comment " " tolower($0)
	gsub(/[ \t]+\*?[ \t]+/, " ", comment)
	if (comment ~ /every struct in this header is frozen/)
		all = 1
	next
}
/^struct coati_[a-z0-9_]+ \{/ {
	name = $2
	class = comment ~ /frozen/ || all ? "frozen" : comment ~ /allocated by the library/ ? "library" : "none"
	first = 1
	comment = ""
	next
}
first && /^\t(uint64_t|uint32_t) size;/ && class == "none" { class = "sized" }
first && !/^\t?\/?[ \t]*\*/ {
	print FILENAME, name, class
	first = 0
}
/^$/ { comment = "" }
