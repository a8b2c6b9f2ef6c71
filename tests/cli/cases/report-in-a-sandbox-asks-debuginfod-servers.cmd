# --debuginfod: the reader itself cannot connect; what it is given comes from the server, through a process of its broker
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) static void spin_here(void) { SPIN(100000000); }
int main(void) { spin_here(); return 0; }
C
cc -O1 -g -Wl,--build-id -o p p.c
id=$(readelf -n p | sed -n 's/.*Build ID: //p')
mkdir -p "served/buildid/$id" && objcopy --only-keep-debug p "served/buildid/$id/debuginfo" && strip p
"$COATI" record -q --no-pack -- ./p
touch port log
python3 -u -m http.server --bind 127.0.0.1 --directory served 0 >>port 2>>log &
server=$!
trap 'kill $server' EXIT
wait_until grep -qs 'port [0-9]' port
url=http://127.0.0.1:$(sed -n 's/.*port \([0-9]*\).*/\1/p' port)
echo "without: $("$COATI" report -q --csv --by line | grep -c '^p\.c:2,\|/p\.c:2,')"
export DEBUGINFOD_URLS="$url" DEBUGINFOD_CACHE_PATH="$PWD/cache"
unset http_proxy
echo "not asked: $("$COATI" report -q --csv --by line | grep -c '/p\.c:2,') $(grep -c GET log)"
echo "asked: $("$COATI" report -q --debuginfod --csv --by line | grep -c '/p\.c:2,') $(grep -c "GET /buildid/$id/debuginfo .* 200" log)"
# from the folder of the client
echo "again: $("$COATI" report -q --debuginfod --csv --by line | grep -c '/p\.c:2,') $(grep -c "GET /buildid/$id/debuginfo .* 200" log)"
