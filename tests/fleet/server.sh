# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# A ClickHouse server of a case's own: on loopback, in the current folder, ended with the case.
#
#	. "$CLI/../fleet/server.sh"
#	start_clickhouse		# $PORT is its HTTP port
#	sql 'SELECT 1'
#	kill_clickhouse; start_clickhouse	# the same data, the same port

free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

clickhouse_config()
{
	cat >config.xml <<-END
	<yandex>
	<logger><level>error</level><log>$PWD/server.log</log><errorlog>$PWD/server.err</errorlog></logger>
	<http_port>$PORT</http_port><tcp_port>$TCP_PORT</tcp_port><listen_host>127.0.0.1</listen_host>
	<path>$PWD/data/</path><tmp_path>$PWD/data/tmp/</tmp_path><format_schema_path>$PWD/data/schemas/</format_schema_path>
	<mark_cache_size>16777216</mark_cache_size><users_config>$PWD/users.xml</users_config>
	<default_profile>default</default_profile><default_database>default</default_database>
	<remote_servers><one><shard><replica><host>127.0.0.1</host><port>$TCP_PORT</port></replica></shard></one></remote_servers>
	</yandex>
	END
	cat >users.xml <<-END
	<yandex><profiles><default><max_threads>2</max_threads></default></profiles><users>
	<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
	<secret><password>hidden</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></secret>
	</users><quotas><default></default></quotas></yandex>
	END
}

clickhouse_answers()
{
	curl -s "http://127.0.0.1:$PORT/ping" >/dev/null
}

start_clickhouse()
{
	[ -n "${PORT-}" ] || { PORT=$(free_port) && TCP_PORT=$(free_port) && clickhouse_config; }
	clickhouse-server --config-file "$PWD/config.xml" >server.out 2>&1 &
	CLICKHOUSE=$!
	trap stop_clickhouse EXIT
	wait_until clickhouse_answers || cat server.out
}

stop_clickhouse()
{
	[ -n "${CLICKHOUSE-}" ] || return 0
	kill "$CLICKHOUSE" 2>/dev/null
	wait "$CLICKHOUSE" 2>/dev/null
	CLICKHOUSE=
}

kill_clickhouse()
{
	kill -9 "$CLICKHOUSE"
	wait "$CLICKHOUSE" 2>/dev/null
	CLICKHOUSE=
}

sql()
{
	printf '%s' "$1" | curl -s --data-binary @- "http://127.0.0.1:${2:-$PORT}/"
}

# database_is_exact DATABASE LAST [HOSTS]: every window from 1 to LAST is there once, as the sums say; of
# each host, when there are several.
database_is_exact()
{
	hosts=${3:-1}
	sql "SELECT type, sum(samples), sum(weight) FROM $1.coati_rows GROUP BY type ORDER BY type" |
		tr '\t' ' ' >stored
	"$FLEET/send-windows" totals 1 "$2" |
		awk -v hosts="$hosts" '$2 == "all" { print $1, $3 * hosts, sprintf("%.0f", $4 * hosts) }' >wanted
	cmp -s stored wanted || { echo "stored:"; cat stored; echo "wanted:"; cat wanted; }
	sql "SELECT count(), sum(windows), uniqExact(agent, sequence), min(stored) FROM $1.coati_windows" | tr '\t' ' ' >stored
	all=$(($2 * hosts))
	echo "$all $all $all 1" >wanted
	cmp -s stored wanted || { echo "windows stored:"; cat stored; echo "wanted:"; cat wanted; }
	sql "SELECT sum(count) FROM $1.coati_tasks" >stored
	awk -v last="$2" -v hosts="$hosts" 'BEGIN { for (i = 1; i <= last; i += 2) sum += 6 * (1 + i % 5); print sum * hosts }' >wanted
	cmp -s stored wanted || { echo "tasks stored:"; cat stored; echo "wanted:"; cat wanted; }
}

FLEET=$HELPERS/../fleet
