"$COATI" list --names | grep -v "^[^ ][^ ]*$"; "$COATI" list --names | grep -cx page-faults
