"$COATI" list --kind tracepoint | grep -c "^      "
