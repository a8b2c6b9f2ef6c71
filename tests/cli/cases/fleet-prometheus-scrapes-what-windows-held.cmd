# A Prometheus server scrapes the agent: at each number of windows it has the samples that the windows up to then held, and the
# CPU time of services.
. "$CLI/../fleet/server.sh"
metrics=$(free_port)
port=$(free_port)
cat >prometheus.yml <<END
global: { scrape_interval: 250ms, scrape_timeout: 250ms }
scrape_configs: [ { job_name: coati, static_configs: [ { targets: [ "127.0.0.1:$metrics" ] } ] } ]
END
prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" >log 2>&1 &
server=$!
"$COATI" agent -q --window 1s --metrics "127.0.0.1:$metrics" -F 99 --budget 50% --print >windows &
agent=$!
trap 'kill $agent $server 2>/dev/null; wait' EXIT
# asks EXPRESSION: the answer of Prometheus
asks() { curl -s --get "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1"; }
# has_three: it has seen three numbers of windows, none of them 0
has_three()
{
	asks 'coati_agent_windows_total[5m]' | grep -o ',"[1-9][0-9]*"' | sort -u | sed -n 3p | grep -q .
}
wait_until has_three
kill $agent
wait $agent || echo "agent: $?"
for name in coati_agent_windows_total coati_agent_samples_total coati_service_cpu_seconds_total; do
	asks "$name[5m]" >$name
done
python3 - <<'END'
import json
def series(name):
    result = json.load(open(name))["data"]["result"]
    return [{float(t): float(v) for t, v in row["values"]} for row in result]
windows = [json.loads(line) for line in open("windows")]
held = [0]
for w in windows:
    held.append(held[-1] + w["quality"]["samples"])
(count,), (samples,) = series("coati_agent_windows_total"), series("coati_agent_samples_total")
wrong = [(t, count[t], samples[t]) for t in count if samples.get(t) != held[int(count[t])]]
print("samples", "are those of the windows" if not wrong else wrong)
last = int(max(count.values()))
weight = sum(s["weight"] for w in windows[:last] for s in w["services"]) / 1e9
has = sum(list(row.values())[-1] for row in series("coati_service_cpu_seconds_total"))
print("CPU time:", "of the windows" if abs(has - weight) < 1e-6 * last else f"{has} s, and windows with {weight} s")
END
