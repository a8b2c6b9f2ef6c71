"$COATI" stat -o no/such/folder/file -- touch ran; s=$?; [ ! -e ran ] || echo "it ran"; exit $s
