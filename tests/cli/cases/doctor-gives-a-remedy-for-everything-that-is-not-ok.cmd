"$COATI" doctor | awk '
	/^(limited|missing)/ { if (open) print "no remedy: " open; open = $0; next }
	/^ok/ { if (open) print "no remedy: " open; open = ""; next }
	/^ +> / { open = "" }'
as_user ./coati doctor | awk '
	/^(limited|missing)/ { if (open) print "no remedy: " open; open = $0; next }
	/^ok/ { if (open) print "no remedy: " open; open = ""; next }
	/^ +> / { open = "" }'
