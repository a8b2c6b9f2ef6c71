"$COATI" stat -e cycles -- touch ran; s=$?; [ ! -e ran ] || echo "it ran"; exit $s
