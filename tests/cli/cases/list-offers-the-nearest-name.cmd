"$COATI" list page-fautls
