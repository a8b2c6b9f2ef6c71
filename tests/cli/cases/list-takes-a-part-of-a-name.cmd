"$COATI" list --names page-fault
